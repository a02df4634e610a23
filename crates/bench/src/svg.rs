//! A few SVG elements, written as text.

use std::fmt::Write;

/// Where a text is held.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub struct Style {
    pub size: f64,
    pub colour: &'static str,
    pub bold: bool,
}

/// A picture that grows. Writing to a string cannot fail, so results of `write!` are dropped.
pub struct Svg {
    body: String,
}

impl Svg {
    /// An empty picture on white, `width` by `height` units. `title` is what a screen reader says.
    pub fn new(width: f64, height: f64, title: &str) -> Svg {
        let mut body = String::new();
        let _ = writeln!(
            body,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif" role="img">
<title>{}</title>
<rect width="{width}" height="{height}" fill="#ffffff"/>"##,
            escape(title)
        );
        Svg { body }
    }

    /// A filled rectangle; `hint` is shown when the pointer rests on it.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str, hint: &str) {
        let _ = write!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{:.1}" fill="{fill}""#,
            height.max(0.0)
        );
        let _ = if hint.is_empty() {
            writeln!(self.body, "/>")
        } else {
            writeln!(self.body, "><title>{}</title></rect>", escape(hint))
        };
    }

    /// A line; `dashes` as in `stroke-dasharray`, empty for none.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), (colour, width): (&str, f64), dashes: &str) {
        let dashes = if dashes.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dashes}""#) };
        let _ = writeln!(
            self.body,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="{width}"{dashes}/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    /// A text on one line, with a white rim that keeps it legible on bars and lines.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, style: Style, anchor: Anchor) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.bold { r#" font-weight="600""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{}" fill="{}" text-anchor="{anchor}"{weight} stroke="white" stroke-width="3" stroke-linejoin="round" paint-order="stroke">{}</text>"#,
            style.size,
            style.colour,
            escape(text)
        );
    }

    /// The whole picture.
    pub fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }
}

/// Makes a text safe between tags. Characters that XML forbids become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_gives_well_formed_xml() {
        let nasty = "<a href=\"&\">\u{0}\u{1b}[31m\n\u{fffe}</svg>";
        let mut svg = Svg::new(10.0, 10.0, nasty);
        let style = Style { size: 9.0, colour: "#000000", bold: true };
        svg.text((1.0, 1.0), nasty, style, Anchor::Middle);
        svg.rectangle((0.0, 0.0), (1.0, -1.0), "#123456", nasty);
        let text = svg.finish();
        let document = roxmltree::Document::parse(&text).unwrap();
        let shown = document.descendants().find(|node| node.has_tag_name("text")).unwrap();
        assert_eq!(shown.text(), Some("<a href=\"&\">\u{fffd}\u{fffd}[31m \u{fffd}</svg>"));
    }
}
