//! Links within the documents lead somewhere: to a file, and to a heading of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGES_BESIDE_THE_BOOK: [&str; 4] =
    ["README.md", "ARCHITECTURE.md", "scenarios/README.md", "scenarios/goel/README.md"];

#[test]
fn every_link_of_the_documents_leads_to_a_file_and_a_heading_that_are_there() {
    let mut dead = Vec::new();
    for page in pages() {
        for target in links(&read(&page)) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let beside = page.parent().expect("a page is in a folder");
            let mut file = if file.is_empty() { page.clone() } else { beside.join(file) };
            // A web view shows a folder by its page.
            if file.is_dir() && !heading.is_empty() {
                file = file.join("README.md");
            }
            let is_there = match heading {
                "" => file.exists(),
                heading => file.exists() && headings(&read(&file)).contains(heading),
            };
            if !is_there {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

/// mdBook writes `.html` for `.md` into each link, and has no pages but those of the book.
#[test]
fn links_out_of_the_book_lead_to_folders_and_to_files_that_are_not_markdown() {
    let book = repository().join("docs/src").canonicalize().expect("it is there");
    let mut wrong = Vec::new();
    for page in markdown_in(&book) {
        for target in links(&read(&page)) {
            let file = page.parent().expect("a folder").join(target.split('#').next().unwrap_or_default());
            let leaves = file.canonicalize().is_ok_and(|file| !file.starts_with(&book));
            if leaves && file.extension().is_some_and(|extension| extension == "md") {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let book = repository().join("docs/src");
    let listed: BTreeSet<PathBuf> =
        links(&read(&book.join("SUMMARY.md"))).iter().map(|link| book.join(link)).collect();
    let there: BTreeSet<PathBuf> =
        markdown_in(&book).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, there);
}

/// Source that a page shows is the file that the link above it leads to. It stands in the page itself, so
/// that every reader of the page has it.
#[test]
fn source_in_a_page_is_that_of_its_file() {
    for page in pages() {
        let text = read(&page);
        let mut current = String::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("[Source](") {
            let (target, block) =
                behind.split_once("):\n\n```rust\n").expect("a block of Rust below its file");
            let (_, behind) = block.split_once("\n```\n").expect("it ends");
            let file = page.parent().expect("a page is in a folder").join(target);
            let source = read(&file);
            for part in [before, "[Source](", target, "):\n\n```rust\n", source.trim_end(), "\n```\n"] {
                current.push_str(part);
            }
            rest = behind;
        }
        current += rest;
        // Another test reads the pages meanwhile.
        if text != current && std::env::var_os("LASTHOP_WRITE_DOCS").is_some() {
            fs::write(&page, &current).expect("a writable repository");
        }
        let advice = "LASTHOP_WRITE_DOCS=1 cargo test -p lasthop-cli --test documents";
        assert!(text == current, "{}: {advice} writes the source as it is", page.display());
        assert!(!text.contains("{{#"), "{}: shown as it stands by all but mdBook", page.display());
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn pages() -> Vec<PathBuf> {
    let mut pages = markdown_in(&repository().join("docs/src"));
    pages.extend(PAGES_BESIDE_THE_BOOK.map(|page| repository().join(page)));
    pages
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
            None if path.is_dir() => markdown_in(&path),
            Some("md") => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The targets of links within the repository.
fn links(text: &str) -> Vec<String> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = ends.map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.contains(' ')).map(str::to_owned).collect()
}

/// Headings as mdBook and GitHub name them in links.
fn headings(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut headings = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) {
            let name = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = name.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            headings.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    headings
}
