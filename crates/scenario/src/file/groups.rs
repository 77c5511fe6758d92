//! Groups of like nodes: `count = 20` in a node's table stands for twenty nodes. A flow, session or
//! link that names the group stands for as many flows, sessions or links, and the group in the list
//! of a cell for as many stations. Groups are expanded before tables are read, so that afterwards
//! only messages mention them.

use std::collections::BTreeMap;

use lasthop_config::{Document, FileError};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The maximum number of members of a group.
const MAX_MEMBERS: i128 = 5_000;
/// The maximum number of tables that expansion makes.
const MAX_TABLES: usize = 10_000;

/// The number of members of each group.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<String, usize>);

impl Groups {
    /// The document with every group expanded, and its groups.
    pub(super) fn expand<'t>(document: &Document<'t>) -> Result<(Document<'t>, Self), FileError> {
        let groups = Self::from_document(document)?;
        let mut written = document.clone();
        if !groups.0.is_empty() {
            groups.expand_nodes(&mut written)?;
            groups.expand_pairs(&mut written, "flows", &["from", "to"])?;
            groups.expand_pairs(&mut written, "sessions", &["client", "server", "between"])?;
            groups.expand_pairs(&mut written, "links", &["between"])?;
            groups.expand_lists(&mut written);
        }
        Ok((written, groups))
    }

    /// The group of a node.
    pub(super) fn group_of(&self, node: &str) -> Option<&str> {
        let (group, number) = node.rsplit_once('-')?;
        let (group, count) = self.0.get_key_value(group)?;
        (1..=*count).any(|index| number == index.to_string()).then_some(group)
    }

    /// The members of a group, as text for messages; `None` if there is no such group.
    pub(super) fn members_of(&self, group: &str) -> Option<String> {
        self.0.get(group).map(|count| match count {
            1 => member(group, 1),
            count => format!("{} to {}", member(group, 1), member(group, *count)),
        })
    }

    fn from_document(document: &Document<'_>) -> Result<Self, FileError> {
        let mut groups = BTreeMap::new();
        let mut members = 0;
        for name in document.keys(&["nodes"]) {
            let key = ["nodes", name, "count"];
            let Some(count) = document.get(&key) else { continue };
            let number = match count.get_ref() {
                DeValue::Integer(count) => i128::from_str_radix(count.as_str(), count.radix()).ok(),
                _ => None,
            };
            let count = number.filter(|count| (1..=MAX_MEMBERS).contains(count));
            let count = count.and_then(|count| usize::try_from(count).ok());
            let count = count.ok_or_else(|| {
                let problem = format!("expected a number of nodes, a whole number from 1 to {MAX_MEMBERS}");
                document.error(&key, problem)
            })?;
            members += count;
            if members > MAX_TABLES {
                return Err(document.error(&key, "too many nodes in total; expected fewer"));
            }
            groups.insert(name.to_owned(), count);
        }
        Ok(Self(groups))
    }

    fn expand_nodes(&self, document: &mut Document<'_>) -> Result<(), FileError> {
        for (group, count) in &self.0 {
            let copies = members(group, *count);
            if let Some(member) = copies.iter().find(|name| document.has(&["nodes", name])) {
                let problem = format!("{member:?} is a member of the group {group:?}; expected another name");
                return Err(document.error(&["nodes", member], problem));
            }
            document.replace_by_copies("nodes", group, &copies, |value, _| {
                if let DeValue::Table(table) = value {
                    table.remove("count");
                }
            });
        }
        Ok(())
    }

    /// Expands flows, sessions or links: tables that name two nodes, each by its own key or both in
    /// a list.
    fn expand_pairs(&self, document: &mut Document<'_>, kind: &str, keys: &[&str]) -> Result<(), FileError> {
        let mut wanted: Vec<(String, Vec<String>)> = Vec::new();
        let mut copies = 0;
        for name in document.keys(&[kind]) {
            let mut given = keys.iter().filter_map(|key| Some((*key, document.get(&[kind, name, key])?)));
            let counts = given.clone().flat_map(|(_, value)| names(value));
            let counts: Vec<usize> = counts.filter_map(|name| self.0.get(name).copied()).collect();
            let Some(count) = counts.first().copied() else { continue };
            if counts.iter().any(|other| *other != count) {
                let problem = "joins groups of different sizes; expected the same number of nodes in each";
                let last = given.next_back().map_or(keys[0], |(key, _)| key);
                return Err(document.error(&[kind, name, last], problem));
            }
            copies += count;
            if copies > MAX_TABLES {
                let problem = format!("too many {kind} in total; expected fewer");
                return Err(document.error(&[kind, name], problem));
            }
            let copies = members(name, count);
            if let Some(member) = copies.iter().find(|name| document.has(&[kind, name])) {
                let problem = format!("{member:?} is a member of {name:?}; expected another name");
                return Err(document.error(&[kind, member], problem));
            }
            wanted.push((name.to_owned(), copies));
        }
        for (name, copies) in wanted {
            document.replace_by_copies(kind, &name, &copies, |value, index| {
                let DeValue::Table(table) = value else { return };
                for key in keys {
                    if let Some(value) = table.get_mut(*key) {
                        self.rename(value, index + 1);
                    }
                }
            });
        }
        Ok(())
    }

    /// Expands lists of nodes, kernels of nodes, and the stations of cells with properties of their own.
    fn expand_lists(&self, document: &mut Document<'_>) {
        if let Some(DeValue::Table(table)) = document.root_mut().get_mut("try").map(Spanned::get_mut) {
            if let Some(DeValue::Array(simulated)) = table.get_mut("simulated").map(Spanned::get_mut) {
                self.expand_list(simulated);
            }
            if let Some(DeValue::Table(kernels)) = table.get_mut("kernels").map(Spanned::get_mut) {
                self.expand_keys(kernels);
            }
        }
        let Some(wlans) = document.root_mut().get_mut("wlans") else { return };
        let DeValue::Table(wlans) = wlans.get_mut() else { return };
        for wlan in wlans.iter_mut().map(|(_, wlan)| wlan.get_mut()) {
            let DeValue::Table(wlan) = wlan else { continue };
            if let Some(stations) = wlan.get_mut("stations")
                && let DeValue::Array(stations) = stations.get_mut()
            {
                self.expand_list(stations);
            }
            for (table, list) in
                [("mobility", "fixed"), ("power-save", "stations"), ("roaming", "access-points")]
            {
                if let Some(DeValue::Table(table)) = wlan.get_mut(table).map(Spanned::get_mut)
                    && let Some(DeValue::Array(list)) = table.get_mut(list).map(Spanned::get_mut)
                {
                    self.expand_list(list);
                }
            }
            if let Some(except) = wlan.get_mut("except")
                && let DeValue::Table(except) = except.get_mut()
            {
                self.expand_keys(except);
            }
        }
    }

    /// Replaces the name of a group by that of a member.
    fn rename(&self, value: &mut Spanned<DeValue<'_>>, number: usize) {
        match value.get_mut() {
            DeValue::String(text) if self.0.contains_key(text.as_ref()) => {
                *text = member(text, number).into();
            }
            DeValue::Array(elements) => elements.iter_mut().for_each(|element| self.rename(element, number)),
            _ => {}
        }
    }

    /// Replaces each key that is a group by its members, of which each has the group's value unless it has its own.
    fn expand_keys(&self, table: &mut DeTable<'_>) {
        for (group, count) in &self.0 {
            let Some((key, value)) = table.remove_entry(group.as_str()) else { continue };
            for number in 1..=*count {
                let key = Spanned::new(key.span(), member(group, number).into());
                table.entry(key).or_insert_with(|| value.clone());
            }
        }
    }

    /// Replaces the name of each group by those of its members.
    fn expand_list(&self, list: &mut DeArray<'_>) {
        let mut written = DeArray::new();
        for element in list.iter() {
            let group = names(element).first().and_then(|name| self.0.get_key_value(*name));
            match (element.get_ref(), group) {
                (DeValue::String(_), Some((group, count))) => {
                    for number in 1..=*count {
                        let name = DeValue::String(member(group, number).into());
                        written.push(Spanned::new(element.span(), name));
                    }
                }
                _ => {
                    written.push(element.clone());
                }
            }
        }
        *list = written;
    }
}

fn member(group: &str, number: usize) -> String {
    format!("{group}-{number}")
}

fn members(group: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| member(group, number)).collect()
}

/// The names in a string or in a list of strings.
fn names<'a>(value: &'a Spanned<DeValue<'_>>) -> Vec<&'a str> {
    match value.get_ref() {
        DeValue::String(text) => vec![text.as_ref()],
        DeValue::Array(elements) => elements.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}
