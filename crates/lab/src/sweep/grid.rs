//! Every run of a sweep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use lasthop_scenario::{ActivityModel, Scenario, Sweep};
use rayon::prelude::*;

use super::columns::{Column, Names, columns, flow_names, lines, session_names};
use crate::progress::{Progress, check};
use crate::run::{RunError, run};

/// Every run of a sweep, in the order of points, schemes, seeds. A scenario is in memory only
/// while it runs.
pub struct Grid<'a, E> {
    sweep: &'a Sweep,
    read: &'a Read<'a, E>,
    shapes: Vec<Arc<Shape>>,
    idle: BTreeMap<String, usize>,
}

/// Reads the scenario of a point.
type Read<'a, E> = dyn Fn(usize) -> Result<Scenario, E> + Sync + 'a;

/// The names of the lines of a point's runs, which most points share.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    schemes: Vec<String>,
    seeds: Vec<u64>,
    lines: Vec<Names>,
}

/// One run.
pub(super) struct Run<'a> {
    point: usize,
    shape: &'a Shape,
    scheme: usize,
    seed: u64,
    /// Shared by the runs of a point; the first of them reads it.
    scenario: Arc<Mutex<Option<Arc<Scenario>>>>,
}

impl<'a, E: From<RunError> + Send> Grid<'a, E> {
    /// The runs of a sweep whose points `read` reads. Errors of any point are found before the
    /// first run. Call this from [`super::in_threads`].
    pub fn check(sweep: &'a Sweep, read: &'a Read<'a, E>, progress: &dyn Progress) -> Result<Self, E> {
        let known: Mutex<BTreeSet<Arc<Shape>>> = Mutex::default();
        let idle: Mutex<BTreeMap<String, usize>> = Mutex::default();
        let shape = |point: usize| -> Result<Arc<Shape>, E> {
            check(progress).map_err(RunError::from)?;
            let scenario = read(point)?;
            scenario.check_all().map_err(RunError::from)?;
            let mut notes = BTreeSet::new();
            for row in &scenario.schemes {
                notes.extend(scenario.idle_schemes(row).map_err(RunError::from)?);
            }
            for note in notes {
                *idle.lock().unwrap_or_else(PoisonError::into_inner).entry(note).or_default() += 1;
            }
            let shape = Shape {
                schemes: scenario.schemes.iter().map(|scheme| scheme.label.clone()).collect(),
                lines: lines_of(&scenario),
                seeds: scenario.seeds,
            };
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(known.get(&shape).cloned().unwrap_or_else(|| {
                let shape = Arc::new(shape);
                known.insert(Arc::clone(&shape));
                shape
            }))
        };
        let shapes = (0..sweep.len()).into_par_iter().map(shape).collect::<Result<Vec<_>, E>>()?;
        let idle = idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self { sweep, read, shapes, idle })
    }

    /// The lines of CSV of a run.
    pub(super) fn lines(&self, run: &Run<'_>, progress: &dyn Progress) -> Result<Vec<u8>, E> {
        let scenario = {
            let mut shared = run.scenario.lock().unwrap_or_else(PoisonError::into_inner);
            match shared.clone() {
                Some(scenario) => scenario,
                None => Arc::clone(shared.insert(Arc::new((self.read)(run.point)?))),
            }
        };
        let summary = self::run(&scenario, &scenario.schemes[run.scheme], run.seed, progress);
        let summary = summary.map_err(|error| match error {
            RunError::Canceled => error,
            _ => RunError::AtPoint { point: self.sweep.describe(run.point), error: error.into() },
        })?;
        Ok(lines(&self.sweep.values(run.point), &summary))
    }
}

impl<E> Grid<'_, E> {
    /// The number of points.
    pub fn points(&self) -> usize {
        self.shapes.len()
    }

    /// Notes on schemes that do nothing ([`Scenario::idle_schemes`]), each with the number of
    /// points where it holds.
    pub fn idle_schemes(&self) -> &BTreeMap<String, usize> {
        &self.idle
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.shapes.iter().map(|shape| shape.schemes.len() * shape.seeds.len()).sum()
    }

    /// The columns of the results.
    pub fn columns(&self) -> Vec<Column> {
        columns(self.sweep)
    }

    /// All runs, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = Run<'_>> + Send {
        self.shapes.iter().enumerate().flat_map(|(point, shape)| {
            let scenario: Arc<Mutex<Option<Arc<Scenario>>>> = Arc::default();
            (0..shape.schemes.len()).flat_map(move |scheme| {
                let scenario = Arc::clone(&scenario);
                shape.seeds.iter().map(move |seed| {
                    let scenario = Arc::clone(&scenario);
                    Run { point, shape, scheme, seed: *seed, scenario }
                })
            })
        })
    }

    /// The first cells of each line of a run.
    pub(super) fn keys(&self, run: &Run<'_>) -> Vec<Vec<String>> {
        let mut of_run: Vec<String> = self.sweep.values(run.point).into_iter().map(str::to_owned).collect();
        of_run.extend([run.shape.schemes[run.scheme].clone(), run.seed.to_string()]);
        let with = |names: &Names| of_run.iter().chain(names).cloned().collect();
        run.shape.lines.iter().map(with).collect()
    }
}

/// The names of the lines of a run: of its flows, and of its sessions with their directions.
fn lines_of(scenario: &Scenario) -> Vec<Names> {
    let flows = scenario.flows.iter().map(|flow| flow_names(&flow.name));
    let sessions = scenario.sessions.iter().flat_map(|session| {
        let directions = match &session.activity {
            ActivityModel::Call(media) => media.iter().flatten().count(),
            ActivityModel::Dialogue { .. } => 0,
        };
        session_names(&session.name, directions)
    });
    flows.chain(sessions).collect()
}
