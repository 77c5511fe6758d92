//! The outputs of the command that its tests expect.

use std::process::Output;

/// Standard output of a command that succeeds.
pub fn succeeded(arguments: &[&str], output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error of a command that ends with 2 and prints nothing else.
pub fn refused(arguments: &[&str], output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    assert!(!message.contains("panicked"), "{message}");
    message
}
