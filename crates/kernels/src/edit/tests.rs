use tempfile::TempDir;

use super::*;
use crate::recipe::Recipe;

const SOURCE: &str = "#define HERE\nint here(void)\n{\n\treturn there(1);\n}\nint there_too;\n";

fn source(text: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary directory");
    fs::write(folder.path().join("new.c"), text).expect("a file in it");
    folder
}

/// An edit of `old.c` or `new.c` with these changes.
fn edit(changes: &str) -> Edit {
    let text = format!("reason = \"Why.\"\nfiles = [\"old.c\", \"new.c\"]\n{changes}");
    Edit::parse("try", &text).expect("an edit")
}

fn inserted(side: &str, names: &str) -> Edit {
    edit(&format!("[[changes]]\nline = {names}\ninsert = \"{side}\"\ntext = '''\nnew\n'''\n"))
}

fn edited(edit: &Edit) -> Result<String, String> {
    let folder = source(SOURCE);
    edit.apply(folder.path()).map_err(|error| error.to_string())?;
    Ok(fs::read_to_string(folder.path().join("new.c")).expect("a file"))
}

#[test]
fn text_is_inserted_before_or_after_the_line_that_has_the_names() {
    let before = edited(&inserted("before", "[\"return\", \"there\"]"));
    assert_eq!(before, Ok(SOURCE.replace("\treturn", "new\n\treturn")));
    let after = edited(&inserted("after", "[\"there_too\"]"));
    assert_eq!(after, Ok(format!("{SOURCE}new\n")));
}

#[test]
fn a_name_in_the_line_is_replaced() {
    let change = "[[changes]]\nline = [\"there\", \"1\"]\nreplace = \"1\"\nwith = \"2\"\n";
    assert_eq!(edited(&edit(change)), Ok(SOURCE.replace("(1)", "(2)")));
}

#[test]
fn a_place_that_is_not_found_is_an_error_with_edit_file_and_names() {
    let absent = edited(&inserted("before", "[\"return\", \"here\"]"));
    assert_eq!(absent, Err("edit try: new.c: expected one line with return and here; found none".to_owned()));
    let part = edited(&inserted("before", "[\"there_\"]"));
    assert!(part.is_err(), "a part of a name is not the name");
}

#[test]
fn a_place_that_is_found_twice_is_an_error_with_both_lines() {
    let twice = edited(&inserted("before", "[\"int\"]"));
    assert_eq!(twice, Err("edit try: new.c: expected one line with int; found lines 2 and 6".to_owned()));
}

#[test]
fn of_several_changes_all_are_made_or_none() {
    let change =
        |name: &str| format!("[[changes]]\nline = [\"{name}\"]\ninsert = \"after\"\ntext = \"new\\n\"\n");
    let folder = source(SOURCE);
    let made = edit(&(change("return") + &change("absent"))).apply(folder.path());
    assert!(made.is_err());
    assert_eq!(fs::read_to_string(folder.path().join("new.c")).expect("a file"), SOURCE);
}

#[test]
fn an_edit_whose_file_is_missing_names_where_it_was_expected() {
    let folder = TempDir::new().expect("a temporary directory");
    let error = inserted("before", "[\"int\"]").apply(folder.path()).expect_err("no file");
    assert_eq!(error.to_string(), "edit try: expected a file old.c or new.c; this kernel has none");
}

#[test]
fn an_edit_is_left_out_where_the_kernel_does_not_need_it() {
    let change = "[[changes]]\nline = [\"absent\"]\nreplace = \"absent\"\nwith = \"b\"\n";
    let unless = |name: &str| {
        edit(&format!("[unnecessary]\nfiles = [\"absent.c\", \"new.c\"]\nname = \"{name}\"\n{change}"))
    };
    let folder = source(SOURCE);
    assert_eq!(unless("there_too").apply(folder.path()).expect("nothing to do"), Outcome::Unnecessary);
    assert!(unless("here_too").apply(folder.path()).is_err());
}

#[test]
fn what_is_not_an_edit_is_refused() {
    let file = "reason = \"Why.\"\nfiles = [\"a.c\"]\n";
    let change = "[[changes]]\nline = [\"a\"]\ninsert = \"before\"\ntext = \"b\"\n";
    assert!(Edit::parse("it", &format!("{file}{change}")).is_ok());
    for text in [
        format!("files = [\"a.c\"]\n{change}"),
        format!("reason = \" \"\nfiles = [\"a.c\"]\n{change}"),
        format!("reason = \"Why.\"\nfiles = []\n{change}"),
        format!("{file}changes = []\n"),
        format!("{file}{}", change.replace("[\"a\"]", "[]")),
        format!("{file}{}", change.replace("before", "beside")),
        format!("{file}{change}with = \"c\"\n"),
        format!("{file}[[changes]]\nline = [\"a\"]\nreplace = \"b\"\nwith = \"c\"\n"),
    ] {
        let error = Edit::parse("it", &text).expect_err(&text);
        assert!(error.to_string().starts_with("edit it: "), "{error}");
    }
}

#[test]
fn our_edits_have_reasons_and_names_and_say_their_license() {
    let recipe = Recipe::ours();
    assert_eq!(recipe.edits().len(), 8);
    for edit in recipe.edits() {
        assert!(edit.text().starts_with("# SPDX-License-Identifier: GPL-2.0-only\n"), "{}", edit.name());
        let is_name = |name: &String| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') && !name.is_empty()
        };
        for change in &edit.content.changes {
            assert!(change.line().iter().all(is_name), "{}: {:?}", edit.name(), change.line());
        }
    }
}
