//! Sweeps: their grids, and the errors about wrong ones.

use std::fs;
use std::path::PathBuf;

use lasthop_packet::Probability;

use super::GOOD;
use crate::file::{Overrides, Sweep};
use crate::model::Link;

/// A folder with the good scenario and a sweep over it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, sweep: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lasthop-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a writable folder for temporary files");
        fs::write(folder.join("good.toml"), GOOD).expect("a writable folder");
        fs::write(folder.join("sweep.toml"), sweep).expect("a writable folder");
        Self(folder)
    }

    fn read(&self) -> Result<Sweep, String> {
        let prefix = format!("{}/", self.0.display());
        let sweep = Sweep::read(&self.0.join("sweep.toml"), &Overrides::default());
        sweep.map_err(|error| error.to_string().replace(&prefix, ""))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_sweep_is_the_grid_of_its_values_and_the_last_changes_fastest() {
    let folder = Folder::new(
        "grid",
        "scenario = \"good.toml\"\nseeds = 1\nschemes = [\"none\"]\n[vary]\n\"links.air.forward.loss\" = [\"1%\", \"5%\"]\n\
         tcp.initial-window = [1, 2, 4]\n",
    );
    let sweep = folder.read().expect("a right sweep");
    assert_eq!(sweep.len(), 6);
    assert_eq!(sweep.parameters().collect::<Vec<_>>(), ["links.air.forward.loss", "tcp.initial-window"]);
    let points: Vec<_> = sweep.points().map(|point| point.expect("a right point")).collect();
    let columns: Vec<_> = sweep.columns().map(|column| column.name.as_str()).collect();
    assert_eq!(columns, ["links.air.forward.loss_percent", "tcp.initial-window"]);
    let values: Vec<_> = (0..sweep.len()).map(|point| sweep.values(point).join(" ")).collect();
    assert_eq!(values, ["1 1", "1 2", "1 4", "5 1", "5 2", "5 4"]);
    let scenario = &points[5];
    let Link::Wireless { config, .. } = &scenario.links[1].link else { panic!("it is wireless") };
    assert_eq!(
        (config.forward.loss.clone(), scenario.flows[0].tcp().expect("TCP").sender.initial_window),
        (Probability::new(0.05).expect("a probability").into(), 4)
    );
    assert_eq!((scenario.seeds.len(), scenario.schemes.len()), (1, 1));
    assert!(sweep.point(6).is_none());
}

#[test]
fn the_command_line_overrides_the_sweep_but_not_what_varies() {
    let folder = Folder::new(
        "settings",
        "scenario = \"good.toml\"\nseeds = 5\nschemes = [\"none\"]\n[vary]\n\"links.air.forward.loss\" = [\"1%\"]\n",
    );
    let read = |setting: &str| {
        let overrides = Overrides { settings: vec![setting.to_owned()], ..Overrides::default() };
        Sweep::read(&folder.0.join("sweep.toml"), &overrides).map_err(|error| error.to_string())
    };
    for (setting, seeds, scheme) in
        [("seeds=3", 3, "none"), ("schemes=[\"snoop\"]", 5, "snoop"), ("schemes.0=snoop", 5, "snoop")]
    {
        let scenario = read(setting).expect("a right sweep").point(0).expect("a point").expect("it is right");
        assert_eq!((scenario.seeds.len(), &*scenario.schemes[0].label), (seeds, scheme), "{setting}");
    }
    for setting in
        ["links.air.forward.loss=2%", "links.air.forward={ loss = \"2%\" }", "links.air.forward.loss.x=1"]
    {
        let message = read(setting).err().expect("it would be ignored");
        assert!(message.contains("this sweep varies links.air.forward.loss; change"), "{message}");
    }
    assert!(read("links.air.backward.loss=2%").is_ok());
}

#[test]
fn an_element_of_a_list_can_be_varied() {
    let folder = Folder::new(
        "element",
        "scenario = \"good.toml\"\n[vary]\n\"schemes.1.local-retransmissions\" = [1, 10]\n",
    );
    assert_eq!(folder.read().map(|sweep| sweep.len()), Ok(2));
}

#[test]
fn the_error_about_a_sweep_has_its_line() {
    let many = format!(
        "tcp.initial-window = [{}]\n\"links.air.channel.bad.loss\" = [{}]",
        "1,".repeat(1000),
        "\"1%\",".repeat(101)
    );
    for (name, vary, place, says) in [
        (
            "value",
            "\"links.air.loss\" = [\n\"1%\",\n\"1 permille\"]",
            "sweep.toml:5: links.air.loss",
            "\"1%\"",
        ),
        ("key", "\"links.air.lost\" = [1]", "sweep.toml:3: links.air.lost", "expected one of"),
        (
            "link",
            "\"links.wind.loss\" = [\"1%\"]",
            "sweep.toml:3: vary.\"links.wind.loss\"",
            "unknown name \"wind\" in links",
        ),
        ("table", "\"seeds.count\" = [1]", "sweep.toml:3: vary.\"seeds.count\"", "is not a table"),
        (
            "entry",
            "\"schemes.9.label\" = [\"x\"]",
            "sweep.toml:3: vary.\"schemes.9.label\"",
            "index of an element",
        ),
        (
            "same",
            "\"links.air.loss\" = [\"0%\"]\nlinks.air.loss = [\"1%\"]",
            "sweep.toml:4: vary.links.air.loss",
            "overlaps with links.air.loss, which varies too",
        ),
        (
            "spaced",
            "\"links.air.loss\" = [\"0%\"]\n\"links.air. loss\" = [\"1%\"]",
            "sweep.toml:4: vary.\"links.air. loss\"",
            "overlaps with links.air.loss,",
        ),
        (
            "within",
            "\"links.air.loss\" = [\"0%\"]\n\"links.air.rate\" = [\"1 Mbit/s\"]\n\"links.air\" = [{}]",
            "sweep.toml:5: vary.\"links.air\"",
            "overlaps with links.air.loss,",
        ),
        (
            "above",
            "\"links.air\" = [{}]\n\"links.air.loss\" = [\"0%\"]",
            "sweep.toml:4: vary.\"links.air.loss\"",
            "overlaps with links.air,",
        ),
        (
            "index",
            "\"schemes.01.label\" = [\"x\"]",
            "sweep.toml:3: vary.\"schemes.01.label\"",
            "index of an element",
        ),
        ("empty", "\"links.air.loss\" = []", "sweep.toml:3: vary.\"links.air.loss\"", "an empty list"),
        ("nothing", "", "sweep.toml:2: vary", "nothing to vary"),
        ("list", "\"links.air.loss\" = \"1%\"", "sweep.toml:3: vary.\"links.air.loss\"", "a list of values"),
        (
            "meaning",
            "\"flows.download.to\" = [\"phone\", \"ap\"]",
            "sweep.toml:3: flows.download.to",
            "is a router",
        ),
        ("many", &many, "sweep.toml:2: vary", "more than 100000 points"),
    ] {
        let folder = Folder::new(name, &format!("scenario = \"good.toml\"\n[vary]\n{vary}\n"));
        let error = folder.read().err().unwrap_or_else(|| panic!("{name} is right?"));
        assert!(error.starts_with(place) && error.contains(says), "{name}: {error}");
    }
    let absent = Folder::new("absent", "scenario = \"bad.toml\"\n[vary]\nseeds = [1]\n").read().err();
    let absent = absent.expect("there is no such scenario");
    assert!(
        absent.starts_with("sweep.toml:1: scenario: ") && absent.contains("bad.toml: cannot"),
        "{absent}"
    );
}
