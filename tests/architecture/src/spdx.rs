//! Reads licence expressions: `MIT OR (Apache-2.0 AND ISC)`, also the older `MIT/Apache-2.0`.

/// Whether the expression can be met with allowed licences alone; an expression that cannot be read is not.
pub(crate) fn is_met(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, is_allowed) == Some(true) && words.peek().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = all(words, is_allowed)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, is_allowed)?;
    }
    Some(met)
}

fn all(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut met = one(words, is_allowed)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, is_allowed)?;
    }
    Some(met)
}

fn one(words: &mut Words<'_>, is_allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    if words.next_if_eq(&"(").is_some() {
        let met = any(words, is_allowed)?;
        return words.next_if_eq(&")").map(|_| met);
    }
    let licence = words
        .next()
        .filter(|word| !["OR", "AND", "WITH", ")"].contains(word))?;
    // An exception gives more rights, never fewer.
    if words.next_if_eq(&"WITH").is_some() {
        words.next()?;
    }
    Some(is_allowed(licence))
}

#[test]
fn expressions_are_understood() {
    let allowed = |name: &str| name == "MIT" || name == "ISC";
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "(GPL-3.0 OR MIT) AND ISC",
        "MIT WITH X",
        "X OR MIT AND ISC",
    ] {
        assert!(is_met(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT",
        "MIT)",
        "MIT OR",
        "MIT ISC",
        "X AND (MIT OR ISC)",
    ] {
        assert!(!is_met(bad, &allowed), "{bad}");
    }
}
