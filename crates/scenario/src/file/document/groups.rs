//! Groups of like nodes: `count = 20` in a node's table stands for twenty nodes, and a flow, a
//! session, a link or a cell that names the group for as many flows, sessions, links and stations.
//! Told apart before tables are read, so that nothing behind knows of groups.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::{Document, Replaced, child};
use crate::file::error::ScenarioError;

/// Members of a group at most.
const MOST_MEMBERS: i128 = 2_000;
/// Tables that groups stand for at most, in all.
const MOST_TABLES: usize = 10_000;

/// Each group's number of members.
type Groups = BTreeMap<String, usize>;

impl<'t> Document<'t> {
    /// The document with every group written out.
    pub(in crate::file) fn with_groups_written_out(&self) -> Result<Self, ScenarioError> {
        let groups = self.groups()?;
        let mut written = self.clone();
        if groups.is_empty() {
            return Ok(written);
        }
        written.write_out_nodes(&groups)?;
        written.write_out_pairs("flows", &["from", "to"], &groups)?;
        written.write_out_pairs("sessions", &["client", "server", "between"], &groups)?;
        written.write_out_pairs("links", &["between"], &groups)?;
        written.write_out_stations(&groups);
        written.groups = groups;
        Ok(written)
    }

    /// The group that a node is a member of.
    pub(in crate::file) fn group_of(&self, node: &str) -> Option<&str> {
        let (group, number) = node.rsplit_once('-')?;
        let (group, count) = self.groups.get_key_value(group)?;
        (1..=*count).any(|index| number == index.to_string()).then_some(group)
    }

    /// The members of a group, as messages name them; `None` if it is no group.
    pub(in crate::file) fn members_of(&self, group: &str) -> Option<String> {
        self.groups.get(group).map(|count| match count {
            1 => member(group, 1),
            count => format!("{} to {}", member(group, 1), member(group, *count)),
        })
    }

    fn groups(&self) -> Result<Groups, ScenarioError> {
        let mut groups = Groups::new();
        let Some(DeValue::Table(nodes)) = self.get(&["nodes"]).map(Spanned::get_ref) else {
            return Ok(groups);
        };
        let mut members = 0;
        for name in nodes.keys().map(|name| name.get_ref().as_ref()) {
            let key = ["nodes", name, "count"];
            let Some(count) = self.get(&key) else { continue };
            let number = match count.get_ref() {
                DeValue::Integer(count) => i128::from_str_radix(count.as_str(), count.radix()).ok(),
                _ => None,
            };
            let count = number.filter(|count| (1..=MOST_MEMBERS).contains(count));
            let count = count.and_then(|count| usize::try_from(count).ok());
            let count = count.ok_or_else(|| {
                let problem = format!("expected a number of nodes, a whole number from 1 to {MOST_MEMBERS}");
                self.error(&key, problem)
            })?;
            members += count;
            if members > MOST_TABLES {
                return Err(self.error(&key, "too many nodes in total; expected fewer"));
            }
            groups.insert(name.to_owned(), count);
        }
        Ok(groups)
    }

    fn write_out_nodes(&mut self, groups: &Groups) -> Result<(), ScenarioError> {
        for (group, count) in groups {
            if let Some(member) = (1..=*count)
                .map(|number| member(group, number))
                .find(|name| self.get(&["nodes", name]).is_some())
            {
                let problem = format!("{member:?} is a member of the group {group:?}; expected another name");
                return Err(self.error(&["nodes", &member], problem));
            }
            let copies = vec![|value: &mut DeValue<'t>, _number: usize| {
                if let DeValue::Table(table) = value {
                    table.remove("count");
                }
            }];
            self.copy("nodes", group, *count, &copies);
        }
        Ok(())
    }

    /// Flows, sessions and links: tables that name two nodes, each by a key of its own or both in a list.
    fn write_out_pairs(&mut self, kind: &str, keys: &[&str], groups: &Groups) -> Result<(), ScenarioError> {
        let Some(DeValue::Table(tables)) = self.get(&[kind]).map(Spanned::get_ref) else { return Ok(()) };
        let mut wanted: Vec<(String, usize)> = Vec::new();
        let mut copies = 0;
        for (name, table) in tables {
            let name = name.get_ref().as_ref();
            let counts =
                keys.iter().filter_map(|key| child(table.get_ref(), key)).flat_map(|(_, value)| names(value));
            let counts: Vec<usize> = counts.filter_map(|name| groups.get(name).copied()).collect();
            let Some(count) = counts.first().copied() else { continue };
            if counts.iter().any(|other| *other != count) {
                let problem = "joins groups of different sizes; expected the same number of nodes in each";
                let given = keys.iter().rev().find(|key| child(table.get_ref(), key).is_some());
                return Err(self.error(&[kind, name, given.unwrap_or(&keys[0])], problem));
            }
            copies += count;
            if copies > MOST_TABLES {
                return Err(self.error(&[kind, name], format!("too many {kind} in total; expected fewer")));
            }
            if let Some(member) =
                (1..=count).map(|number| member(name, number)).find(|name| self.get(&[kind, name]).is_some())
            {
                let problem = format!("{member:?} is a member of {name:?}; expected another name");
                return Err(self.error(&[kind, &member], problem));
            }
            wanted.push((name.to_owned(), count));
        }
        for (name, count) in wanted {
            let rename = |value: &mut DeValue<'t>, number: usize| {
                let DeValue::Table(table) = value else { return };
                for key in keys {
                    if let Some(value) = table.get_mut(*key) {
                        rename(value, groups, number);
                    }
                }
            };
            self.copy(kind, &name, count, &[rename]);
        }
        Ok(())
    }

    fn write_out_stations(&mut self, groups: &Groups) {
        if let Some(DeValue::Table(table)) = self.root.get_mut().get_mut("try").map(Spanned::get_mut)
            && let Some(DeValue::Array(simulated)) = table.get_mut("simulated").map(Spanned::get_mut)
        {
            write_out_list(simulated, groups);
        }
        let Some(wlans) = self.root.get_mut().get_mut("wlans") else { return };
        let DeValue::Table(wlans) = wlans.get_mut() else { return };
        for wlan in wlans.iter_mut().map(|(_, wlan)| wlan.get_mut()) {
            let DeValue::Table(wlan) = wlan else { continue };
            if let Some(stations) = wlan.get_mut("stations")
                && let DeValue::Array(stations) = stations.get_mut()
            {
                write_out_list(stations, groups);
            }
            for (table, list) in [("mobility", "fixed"), ("power-save", "stations")] {
                if let Some(DeValue::Table(table)) = wlan.get_mut(table).map(Spanned::get_mut)
                    && let Some(DeValue::Array(list)) = table.get_mut(list).map(Spanned::get_mut)
                {
                    write_out_list(list, groups);
                }
            }
            if let Some(except) = wlan.get_mut("except")
                && let DeValue::Table(except) = except.get_mut()
            {
                for (group, count) in groups {
                    // What is said of one of them comes before what is said of all.
                    let Some((key, value)) = except.remove_entry(group.as_str()) else { continue };
                    for number in 1..=*count {
                        let key = Spanned::new(key.span(), member(group, number).into());
                        except.entry(key).or_insert_with(|| value.clone());
                    }
                }
            }
        }
    }

    /// Puts `count` copies in the place of a table, with every change made to each.
    fn copy(&mut self, kind: &str, name: &str, count: usize, changes: &[impl Fn(&mut DeValue<'t>, usize)]) {
        let Some(tables) = self.root.get_mut().get_mut(kind) else { return };
        let DeValue::Table(tables) = tables.get_mut() else { return };
        let Some((key, table)) = tables.remove_entry(name) else { return };
        for number in 1..=count {
            let mut value = table.get_ref().clone();
            for change in changes {
                change(&mut value, number);
            }
            let key = Spanned::new(key.span(), member(name, number).into());
            tables.insert(key, Spanned::new(table.span(), value));
        }
        let of_it: Vec<Replaced> = self
            .replaced
            .iter()
            .filter(|replaced| {
                replaced.path.len() > 2 && replaced.path[0] == kind && replaced.path[1] == name
            })
            .cloned()
            .collect();
        for number in 1..=count {
            self.replaced.extend(of_it.iter().cloned().map(|mut replaced| {
                replaced.path[1] = member(name, number);
                replaced
            }));
        }
    }
}

fn member(group: &str, number: usize) -> String {
    format!("{group}-{number}")
}

/// The strings of a string or of a list.
fn names<'a>(value: &'a Spanned<DeValue<'_>>) -> Vec<&'a str> {
    match value.get_ref() {
        DeValue::String(text) => vec![text.as_ref()],
        DeValue::Array(elements) => elements.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// Puts a group's member in the group's place.
fn rename(value: &mut Spanned<DeValue<'_>>, groups: &Groups, number: usize) {
    match value.get_mut() {
        DeValue::String(text) if groups.contains_key(text.as_ref()) => *text = member(text, number).into(),
        DeValue::Array(elements) => elements.iter_mut().for_each(|element| rename(element, groups, number)),
        _ => {}
    }
}

/// Puts each group's members in the group's place.
fn write_out_list(list: &mut DeArray<'_>, groups: &Groups) {
    let mut written = DeArray::new();
    for element in list.iter() {
        let group = names(element).first().and_then(|name| groups.get_key_value(*name));
        match (element.get_ref(), group) {
            (DeValue::String(_), Some((group, count))) => {
                for number in 1..=*count {
                    let name = DeValue::String(member(group, number).into());
                    written.push(Spanned::new(element.span(), name));
                }
            }
            _ => written.push(element.clone()),
        }
    }
    *list = written;
}
