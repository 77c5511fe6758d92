//! Lists of connections and of clients: their columns, and the selection and order of rows. The
//! gateway uses this module to send only the selected rows over the control socket, and the command
//! to select among the rows that it receives.

use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};

use lasthop_config::words::did_you_mean;
use lasthop_packet::{Prefix, PrefixError};
use serde::{Deserialize, Serialize};

/// The maximum number of rows that the gateway itself sorts and limits. For a larger limit, or
/// none, it sends all rows that pass the filters, in any order.
const MAX_SORTED: usize = 1000;

/// The selection and order of a list's rows. By default all rows, by traffic in descending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// Only rows that pass all these filters, which [`Selection::from_query`] describes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// The column to sort by: numbers in descending order, texts and addresses in ascending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// Whether the order is reversed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    /// The maximum number of rows, the first in that order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A row of a list.
pub trait Row: Sized + 'static {
    /// The columns, in the order of CSV.
    const COLUMNS: &'static [Column<Self>];
    /// The traffic in octets, in both directions.
    fn octets(&self) -> u64;

    /// The known addresses of its endpoints.
    fn addresses(&self) -> impl Iterator<Item = IpAddr>;

    /// Whether one of its endpoints has this port.
    fn has_port(&self, port: u16) -> bool;

    /// Whether this word describes the row.
    fn is(&self, word: &str) -> bool;

    /// The words that can describe rows, without the names of rules.
    fn words() -> Vec<&'static str>;

    /// The description of ports and words for the error of an invalid filter; `None` if rows have
    /// neither.
    fn ports_and_words() -> Option<String>;
}

/// A column of a list.
#[derive(Debug)]
pub struct Column<R> {
    /// Its name in JSON, CSV, filters and `--sort`.
    pub key: &'static str,
    /// A shorter name for filters and `--sort`; may be empty.
    pub short: &'static str,
    /// The values of the column.
    pub of: Of<R>,
}

/// The value of a column for a row.
#[derive(Debug)]
pub enum Of<R> {
    /// A number; `None` if it is unknown.
    Number(fn(&R) -> Option<f64>),
    /// A text.
    Text(fn(&R) -> &str),
    /// The address and port of an endpoint; `None` if the row represents several.
    End(fn(&R) -> Option<SocketAddr>),
}

impl<R> Column<R> {
    /// A column of numbers.
    pub const fn number(key: &'static str, short: &'static str, of: fn(&R) -> Option<f64>) -> Self {
        Self { key, short, of: Of::Number(of) }
    }

    /// A column of texts.
    pub const fn text(key: &'static str, of: fn(&R) -> &str) -> Self {
        Self { key, short: "", of: Of::Text(of) }
    }

    /// A column of addresses.
    pub const fn end(key: &'static str, of: fn(&R) -> Option<SocketAddr>) -> Self {
        Self { key, short: "", of: Of::End(of) }
    }

    fn has_name(&self, name: &str) -> bool {
        self.key == name || (self.short == name && !name.is_empty())
    }

    /// The order of two rows: numbers descending, texts and addresses ascending, unknown values
    /// last.
    fn order(&self, one: &R, other: &R, reverse: bool) -> Ordering {
        let directed = |order: Ordering| if reverse { order.reverse() } else { order };
        match self.of {
            Of::Number(of) => known_first(of(one), of(other), |one, other| directed(other.total_cmp(&one))),
            Of::Text(of) => directed(of(one).cmp(of(other))),
            Of::End(of) => known_first(of(one), of(other), |one, other| directed(one.cmp(&other))),
        }
    }
}

fn known_first<T>(one: Option<T>, other: Option<T>, order: impl FnOnce(T, T) -> Ordering) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => order(one, other),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

/// A parsed [`Query`].
#[derive(Debug)]
pub struct Selection<R: 'static> {
    filters: Vec<Filter<R>>,
    sort: Option<&'static Column<R>>,
    reverse: bool,
    limit: Option<usize>,
}

#[derive(Debug)]
enum Filter<R: 'static> {
    /// An endpoint is in this prefix.
    At(Prefix),
    Port(u16),
    Word(String),
    Number(fn(&R) -> Option<f64>, Relation, f64),
    Text(fn(&R) -> &str, bool, String),
    End(fn(&R) -> Option<SocketAddr>, bool, Place),
}

/// The location of an endpoint.
#[derive(Debug)]
enum Place {
    At(Prefix),
    Exactly(SocketAddr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    More,
}

/// The signs of the relations, in an order in which none begins with an earlier one.
const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("!=", Relation::Unequal),
    ("<", Relation::Less),
    (">", Relation::More),
    ("=", Relation::Equal),
];

impl Relation {
    fn holds(self, number: f64, limit: f64) -> bool {
        let order = number.total_cmp(&limit);
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::AtLeast => order.is_ge(),
            Self::More => order.is_gt(),
        }
    }
}

impl<R: Row> Selection<R> {
    /// Parses a query. A filter is an address or a prefix (`10.0.0.7`, `2001:db8::/32`), a column
    /// with a value (`lost_down_percent>2`, `state=established`), or, for connections, a port
    /// (`443`), a protocol, a state, the name of a rule, or a reason to be aside (`no-use`). The
    /// error describes the invalid part.
    pub fn from_query(query: &Query) -> Result<Self, String> {
        Ok(Self {
            filters: query.filter.iter().map(|text| filter(text)).collect::<Result<_, _>>()?,
            sort: query.sort.as_deref().map(column).transpose()?,
            reverse: query.reverse,
            limit: query.limit,
        })
    }

    /// Checks the words of the filters, such as `established` or `rule=snoop`: each must be one of
    /// [`Row::words`] or of `rules`. The error names the first that is neither.
    pub fn check_words<'a>(&self, rules: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
        let mut words =
            self.filters.iter().filter_map(Filter::word).filter(|word| !word.is_empty()).peekable();
        if words.peek().is_none() {
            return Ok(());
        }
        let known: Vec<&str> = R::words().into_iter().chain(rules).collect();
        words.find(|word| !known.contains(word)).map_or(Ok(()), |word| {
            let meant = did_you_mean(word, &known);
            let all = known.join(", ");
            Err(format!("{:?} is said of no connection{meant}; expected one of {all}", shown(word)))
        })
    }

    /// Whether a row passes all filters.
    pub fn keeps(&self, row: &R) -> bool {
        self.filters.iter().all(|filter| filter.keeps(row))
    }

    /// The selected rows, in the query's order. `of` returns the row of an item.
    #[must_use]
    pub fn pick<T>(&self, mut items: Vec<T>, of: impl Fn(&T) -> &R) -> Vec<T> {
        items.retain(|item| self.keeps(of(item)));
        items.sort_by(|one, other| self.order(of(one), of(other)));
        items.truncate(self.limit.unwrap_or(usize::MAX));
        items
    }

    /// The limit, if the gateway itself sorts and limits the rows; `None` if it sends all that
    /// pass.
    pub(super) fn sorted_limit(&self) -> Option<usize> {
        self.limit.filter(|limit| *limit <= MAX_SORTED)
    }

    fn order(&self, one: &R, other: &R) -> Ordering {
        let by_octets = || {
            let order = other.octets().cmp(&one.octets());
            if self.reverse && self.sort.is_none() { order.reverse() } else { order }
        };
        let sorted = self.sort.map_or(Ordering::Equal, |column| column.order(one, other, self.reverse));
        sorted.then_with(by_octets)
    }
}

fn column<R: Row>(name: &str) -> Result<&'static Column<R>, String> {
    R::COLUMNS.iter().find(|column| column.has_name(name)).ok_or_else(|| {
        let names: Vec<&str> = R::COLUMNS.iter().map(|column| column.key).collect();
        let short = R::COLUMNS.iter().map(|column| column.short).filter(|short| !short.is_empty());
        let known: Vec<&str> = names.iter().copied().chain(short).collect();
        let meant = did_you_mean(name, &known);
        format!("unknown column {:?}{meant}; expected one of {}", shown(name), names.join(", "))
    })
}

fn filter<R: Row>(text: &str) -> Result<Filter<R>, String> {
    let sign = text.find(['<', '>', '=', '!']);
    if let Some((name, rest)) = sign.map(|at| text.split_at(at)) {
        let relation =
            RELATIONS.iter().find_map(|(sign, relation)| Some((*relation, rest.strip_prefix(sign)?)));
        let (relation, value) = relation.ok_or_else(|| wrong::<R>(text))?;
        return compared(column(name.trim())?, relation, value.trim());
    }
    match text.parse() {
        Ok(prefix) => return Ok(Filter::At(prefix)),
        // These errors suggest a valid prefix.
        Err(error @ (PrefixError::HostBits { .. } | PrefixError::Length { .. })) => {
            return Err(error.to_string());
        }
        Err(PrefixError::Unreadable(_) | PrefixError::Name(_)) => {}
    }
    let has_both = R::ports_and_words().is_some();
    let is_word = text.starts_with(|first: char| first.is_alphabetic()) && !text.contains([':', '/']);
    match text.parse() {
        Ok(port) if has_both => Ok(Filter::Port(port)),
        _ if is_word && has_both => Ok(Filter::Word(text.to_owned())),
        _ => Err(wrong::<R>(text)),
    }
}

fn compared<R>(column: &Column<R>, relation: Relation, value: &str) -> Result<Filter<R>, String> {
    let key = column.key;
    let is_equality = matches!(relation, Relation::Equal | Relation::Unequal);
    let is_equal = relation == Relation::Equal;
    match column.of {
        Of::Number(of) => match value.parse() {
            Ok(limit) if f64::is_finite(limit) => Ok(Filter::Number(of, relation, limit)),
            _ => Err(format!("{key} is compared with a number, not with {:?}", shown(value))),
        },
        Of::Text(_) | Of::End(_) if !is_equality => Err(format!("{key} is no number; expected {key}=VALUE")),
        Of::Text(of) => Ok(Filter::Text(of, is_equal, value.to_owned())),
        Of::End(of) => {
            let place = value.parse().map(Place::Exactly).or_else(|_| value.parse().map(Place::At));
            let place = place.map_err(|error| format!("{key}: {error}"))?;
            Ok(Filter::End(of, is_equal, place))
        }
    }
}

fn wrong<R: Row>(text: &str) -> String {
    let further = R::ports_and_words().map(|both| format!(", {both}")).unwrap_or_default();
    format!(
        "{:?} is no filter; expected an address or a prefix (10.0.0.0/24), a column with a value ({}>100){further}",
        shown(text),
        R::COLUMNS.iter().find(|column| matches!(column.of, Of::Number(_))).map_or("", |column| column.key),
    )
}

/// The part of a text that a message quotes.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

impl<R: Row> Filter<R> {
    fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) | Self::Text(_, _, word) => Some(word),
            Self::At(_) | Self::Port(_) | Self::Number(..) | Self::End(..) => None,
        }
    }

    fn keeps(&self, row: &R) -> bool {
        match self {
            Self::At(prefix) => row.addresses().any(|address| prefix.contains(address)),
            Self::Port(port) => row.has_port(*port),
            Self::Word(word) => row.is(word),
            // An unknown number meets no condition.
            Self::Number(of, relation, limit) => of(row).is_some_and(|number| relation.holds(number, *limit)),
            Self::Text(of, is_equal, text) => (of(row) == text) == *is_equal,
            Self::End(of, is_equal, place) => of(row).is_some_and(|end| place.has(end) == *is_equal),
        }
    }
}

impl Place {
    fn has(&self, end: SocketAddr) -> bool {
        match self {
            Self::At(prefix) => prefix.contains(end.ip()),
            Self::Exactly(place) => *place == end,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clients::{Carried, ClientCounters, ClientReport};
    use crate::engine::FlowReport;

    fn flow(radio: &str, octets_from_core: u64, state: &str) -> FlowReport {
        let (core, radio) = ("192.0.2.1:443", radio.parse::<SocketAddr>().expect("an end"));
        let counts = [
            "packets_from_core",
            "packets_from_radio",
            "octets_from_radio",
            "sent_by_agent",
            "kept_by_agent",
        ];
        let mut flow =
            json!({ "protocol": "tcp", "core": core, "radio": radio, "state": state, "rule": "snoop" });
        (flow["aside"], flow["octets_from_core"]) = (json!(""), json!(octets_from_core));
        (flow["age_s"], flow["idle_s"]) = (json!(5.0), json!(0.5));
        for count in counts {
            flow[count] = json!(0);
        }
        serde_json::from_value(flow).expect("an older gateway tells no more")
    }

    fn flows() -> Vec<FlowReport> {
        vec![
            flow("10.0.0.7:5000", 10, "established"),
            flow("10.0.0.30:5001", 30, "opening"),
            flow("[2001:db8::7]:5002", 20, "established"),
        ]
    }

    /// The last digits of the ports of the selected connections.
    fn picked(query: &Query) -> String {
        let selection = Selection::from_query(query).unwrap_or_else(|why| panic!("{query:?}: {why}"));
        let flows = selection.pick(flows(), |flow| flow);
        flows.iter().map(|flow| char::from(b'0' + (flow.radio.port() % 10) as u8)).collect()
    }

    fn query(filters: &[&str]) -> Query {
        Query { filter: filters.iter().map(|text| (*text).to_owned()).collect(), ..Query::default() }
    }

    #[test]
    fn a_row_passes_if_it_passes_all_filters() {
        for (filters, expected) in [
            (&[][..], "120"),
            (&["10.0.0.0/24"], "10"),
            (&["2001:db8::/32"], "2"),
            (&["192.0.2.1"], "120"),
            (&["443"], "120"),
            (&["5001"], "1"),
            (&["80"], ""),
            (&["established"], "20"),
            (&["snoop", "tcp", "opening"], "1"),
            (&["aside"], ""),
            (&["octets_from_core>=20"], "12"),
            (&["down<20"], "0"),
            (&["down!=20", "10.0.0.0/8"], "10"),
            (&["state=opening"], "1"),
            (&["state != opening"], "20"),
            (&["radio=10.0.0.7:5000"], "0"),
            (&["radio!=10.0.0.0/24"], "2"),
        ] {
            assert_eq!(picked(&query(filters)), expected, "{filters:?}");
        }
    }

    #[test]
    fn numbers_are_sorted_in_descending_and_texts_in_ascending_order_or_reversed() {
        let sorted = |sort: &str, reverse, limit| {
            picked(&Query { sort: Some(sort.to_owned()), reverse, limit, ..Query::default() })
        };
        assert_eq!(sorted("down", false, None), "120");
        assert_eq!(sorted("octets_from_core", true, Some(2)), "02");
        assert_eq!(sorted("radio", false, None), "012", "by number, IPv4 first");
        assert_eq!(sorted("state", false, None), "201", "of those that are equal, the largest first");
        assert_eq!(picked(&Query { reverse: true, limit: Some(1), ..Query::default() }), "0");
    }

    #[test]
    fn unknown_values_come_last_and_meet_no_condition() {
        let client = |client: &str, octets_down| ClientReport {
            client: client.to_owned(),
            counters: ClientCounters {
                carried: Carried { octets_down, ..Carried::default() },
                ..ClientCounters::default()
            },
            ..ClientReport::default()
        };
        let clients = || vec![client("other", 9), client("10.0.0.10", 1), client("10.0.0.9", 2)];
        for (reverse, expected) in
            [(false, ["10.0.0.9", "10.0.0.10", "other"]), (true, ["10.0.0.10", "10.0.0.9", "other"])]
        {
            let query = Query { sort: Some("client".to_owned()), reverse, ..Query::default() };
            let rows = Selection::from_query(&query).expect("it is right").pick(clients(), |client| client);
            assert_eq!(rows.iter().map(|row| &*row.client).collect::<Vec<_>>(), expected);
        }
        let query = query(&["client!=10.0.0.9"]);
        let rows = Selection::from_query(&query).expect("it is right").pick(clients(), |client| client);
        assert_eq!(rows.len(), 1);
    }

    #[test]
    fn the_error_of_an_invalid_query_describes_what_is_expected() {
        let wrong = |query: &Query| Selection::<FlowReport>::from_query(query).expect_err("it is wrong");
        for (filter, expected) in [
            ("", "is no filter"),
            ("10.0.0/24", "an address or a prefix"),
            ("10.0.0.5/24", "expected 10.0.0.0/24 for the network, or 10.0.0.5 for"),
            ("10.0.0.300", "an address or a prefix"),
            ("2001:db8::/129", "expected 0 to 128 bits"),
            ("99999", "a port (443)"),
            ("mood=good", "unknown column \"mood\"; expected one of protocol, core,"),
            ("age_s>old", "age_s is compared with a number, not with \"old\""),
            ("state>opening", "state is no number"),
            ("radio=here", "radio: \"here\" is a name; expected an address"),
            ("loss>NaN", "lost_down_percent is compared with a number, not with \"NaN\""),
            ("loss>1e400", "lost_down_percent is compared with a number"),
            ("los>1", "unknown column \"los\" (did you mean \"loss\"?)"),
            ("age_s!5", "is no filter"),
        ] {
            let error = wrong(&query(&[filter]));
            assert!(error.contains(expected), "{filter}: {error}");
        }
        let sort = Some("mood".to_owned());
        assert!(wrong(&Query { sort, ..Query::default() }).contains("unknown column"));
        for of_connections in ["443", "established"] {
            let error = Selection::<ClientReport>::from_query(&query(&[of_connections]))
                .expect_err("clients have none");
            assert!(error.contains("connections>100") && !error.contains("port"), "{error}");
        }
    }

    #[test]
    fn the_error_for_an_unknown_word_names_it() {
        let check = |filters: &[&str]| {
            let selection = Selection::<FlowReport>::from_query(&query(filters)).expect("it can be read");
            selection.check_words(["snoop", "my rule"])
        };
        let right =
            ["443", "established", "aside", "no-use", "udp", "snoop", "rule=my rule", "aside=", "down>1"];
        assert_eq!(check(&right), Ok(()));
        for (filter, expected) in [
            (
                "establishd",
                "\"establishd\" is said of no connection (did you mean \"established\"?); expected one of tcp, ",
            ),
            ("state!=openi", "(did you mean \"opening\"?)"),
            ("rule=snop", "\"snop\" is said of no connection (did you mean \"snoop\"?)"),
            ("cicada", "\"cicada\" is said of no connection; expected one of"),
        ] {
            let error = check(&["tcp", filter]).expect_err("no connection can have it");
            assert!(error.contains(expected), "{filter}: {error}");
        }
    }

    #[test]
    fn columns_have_unique_names_and_are_the_keys_of_the_json() {
        fn keys<R: Row + Serialize>(row: &R) {
            let row = serde_json::to_value(row).expect("it can be written");
            let mut keys: Vec<&str> =
                row.as_object().expect("an object").keys().map(String::as_str).collect();
            let mut columns: Vec<&str> = R::COLUMNS.iter().map(|column| column.key).collect();
            keys.sort_unstable();
            columns.sort_unstable();
            assert_eq!(columns, keys);
            let mut names: Vec<&str> = R::COLUMNS
                .iter()
                .flat_map(|column| [column.key, column.short])
                .filter(|name| !name.is_empty())
                .collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "a name for two columns: {names:?}");
        }
        keys(&flows()[0]);
        keys(&ClientReport::default());
    }
}
