import CertificateTrust
import PinctlFoundation

/// The style and script of every page of `--report html`.
enum HTMLPage {
    /// Returns the hash of a style or script for the page's content security policy (CSP Level 3, section 2.3.1).
    static func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return "sha256-\(Data(sha256Digest(bytes.span)).base64EncodedString())"
    }

    static let style = """

        :root { color-scheme: light dark;
          --page: #fbfaf8; --box: #fff; --ink: #1d1f23; --soft: #565c66; --line: #d9d6d0; --link: #0b57a4;
          --good: #1b6e3a; --warn: #835200; --bad: #ae1e1e; --distrust: #7a2a8f; --unknown: #4d5560; --old: #4d5f75; }
        @media (prefers-color-scheme: dark) { :root {
          --page: #16181b; --box: #1e2125; --ink: #e7e5e1; --soft: #a9afb8; --line: #3a3f46; --link: #8ec2ff;
          --good: #7ed49b; --warn: #f0bd63; --bad: #ff9a90; --distrust: #e2a6f2; --unknown: #b6bec9;
          --old: #a9bdd6; } }
        * { box-sizing: border-box; }
        html { scroll-padding-top: 1rem; }
        body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--page); color: var(--ink);
          font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
        code, pre { font: .8125rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; unicode-bidi: isolate; }
        a { color: var(--link); }
        :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
        .skip { position: absolute; left: -100vw; }
        .skip:focus { position: static; }
        .good { --tint: var(--good); } .warn { --tint: var(--warn); } .bad { --tint: var(--bad); }
        .distrust { --tint: var(--distrust); } .unknown { --tint: var(--unknown); } .old { --tint: var(--old); }
        .mark { display: inline-block; min-width: 1.1em; text-align: center; font-weight: 700; color: var(--tint); }
        .top { padding-bottom: 1rem; }
        .tool { margin: 0; color: var(--soft); }
        h1 { margin: 0 0 .25rem; font-size: 2rem; line-height: 1.2; color: var(--tint); }
        .closing { margin: .25rem 0; font-size: 1.125rem; }
        .when { margin: .25rem 0; color: var(--soft); }
        .counts { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; margin: 1rem 0 0; padding: 0; list-style: none; }
        .counts li { border-left: 3px solid var(--tint); padding-left: .5rem; }
        .counts b { font-size: 1.25rem; }
        table { border-collapse: collapse; margin-top: 1.25rem; width: 100%; }
        caption { text-align: left; font-weight: 600; padding-bottom: .25rem; }
        th, td { text-align: left; vertical-align: top; padding: .375rem .75rem .375rem 0;
          border-top: 1px solid var(--line); font-weight: 400; }
        thead th { color: var(--soft); font-size: .875rem; border: 0; }
        td.n { text-align: right; font-variant-numeric: tabular-nums; }
        .causes th:nth-child(-n+2):not([scope=row]), .causes td { width: 1%; white-space: nowrap; }
        #filter { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 0 0 1rem;
          padding: .75rem; background: var(--box); border: 1px solid var(--line); border-radius: .5rem; }
        #filter[hidden], .entry[hidden], section[hidden] { display: none; }
        #filter input[type=search] { flex: 1 1 12rem; min-width: 0; padding: .375rem .5rem; font: inherit;
          color: inherit; background: var(--page); border: 1px solid var(--soft); border-radius: .25rem; }
        fieldset { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0; padding: 0; border: 0; }
        legend { float: left; padding: 0; margin-right: 1rem; color: var(--soft); }
        #shown { color: var(--soft); }
        section, .plan { margin-bottom: 2rem; }
        .plan .do { margin: .75rem 0; }
        .wide { overflow-x: auto; } .wide td { white-space: nowrap; color: var(--tint); }
        h2 { margin: 1.5rem 0 .5rem; font-size: 1.125rem; line-height: 1.4; }
        h2 > span:first-child { color: var(--tint); }
        h2 .cause { display: block; }
        .do { margin: 0 0 .75rem; }
        .entry { margin-bottom: .5rem; background: var(--box); border: 1px solid var(--line);
          border-left: 4px solid var(--tint); border-radius: .375rem; content-visibility: auto;
          contain-intrinsic-size: auto 3.5rem; }
        .entry > summary, .entry > p { margin: 0; padding: .5rem .75rem; } .entry > summary { cursor: pointer; }
        .badge { white-space: nowrap; font-size: .875rem; font-weight: 600; color: var(--tint); }
        .subject { font-weight: 600; unicode-bidi: isolate; }
        .variant, .note, .source { color: var(--soft); font-size: .875rem; font-weight: 400; }
        .verdict { color: var(--soft); }
        .finding { display: block; padding-left: 1.1rem; }
        .body { padding: 0 .75rem .75rem; border-top: 1px solid var(--line); }
        .why { margin: .75rem 0; padding-left: 1.25rem; }
        .where { margin: .75rem 0 0; color: var(--soft); font-size: .875rem; }
        .drawing { display: grid; gap: 1rem; margin-top: .75rem; }
        .chain { display: flex; flex-direction: column; gap: 1.5rem; margin: 0; padding: 0; list-style: none;
          align-self: start; }
        .box, .pin { position: relative; padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .375rem;
          background: var(--page); }
        .box { flex: 1 1 0; min-width: 0; }
        .box.match { border: 2px solid var(--good); }
        .box + .box::before { content: "↑"; position: absolute; left: 1.25rem; top: -1.5rem; line-height: 1.5rem;
          color: var(--soft); }
        .box p { margin: 0; }
        .box .name { max-height: 9rem; overflow: auto; unicode-bidi: isolate; }
        .box code, .pin code { display: block; }
        h3 { margin: 0; font-size: .9375rem; }
        .box h3 { display: flex; justify-content: space-between; gap: .5rem; }
        .source { padding: 0 .375rem; border: 1px solid var(--line); border-radius: .75rem; }
        .hit { color: var(--tint); } .miss { color: var(--soft); }
        .pins ul { display: grid; gap: .5rem; margin: .5rem 0 0; padding: 0; list-style: none; }
        .pin { border-style: dashed; border-color: var(--soft); }
        .text { margin-top: .75rem; } .text summary { cursor: pointer; color: var(--link); }
        pre { margin: .5rem 0 0; padding: .75rem; overflow: auto; background: var(--page);
          border: 1px solid var(--line); border-radius: .375rem; }
        footer { color: var(--soft); font-size: .875rem; }
        @media (max-width: 40rem) {
          .plan thead { display: none; }
          .plan tr, .plan th, .plan td { display: block; }
          .plan tr { padding: .375rem 0; border-top: 1px solid var(--line); }
          .plan th, .plan td, .wide td { padding: 0; border: 0; white-space: normal; }
          .plan th { font-weight: 600; }
          .wide td { padding-left: 1rem; }
          .wide td::before { content: attr(data-host) ": "; color: var(--soft); } }
        @media (min-width: 60rem) {
          .drawing { grid-template-columns: minmax(0, 1fr) 18rem; }
          .drawing > :only-child { grid-column: 1 / -1; }
          .chain { flex-direction: row; }
          .box + .box::before { content: "←"; left: -1.5rem; top: 50%; width: 1.5rem; text-align: center;
            line-height: 0; } }
        @media print { :root { --page: #fff; --box: #fff; --ink: #000; --soft: #444; --line: #999; }
          body { max-width: none; padding: 0; font-size: .8125rem; }
          #filter, .skip, .text { display: none; }
          h2, summary, caption { break-after: avoid; } .box, .pin, tr { break-inside: avoid; }
          .wide { overflow: visible; } .wide td { white-space: normal; }
          .box .name { max-height: none; }
          .entry { content-visibility: visible; }
          .entry:not(.good)::details-content { content-visibility: visible; display: block; } }

        """

    /// A script that hides the entries that don't match the filter form. It never writes markup, so texts in the report
    /// stay text.
    static let script = """

        "use strict";
        (() => {
          const form = document.getElementById("filter");
          const field = document.getElementById("text");
          const shown = document.getElementById("shown");
          const boxes = [...form.querySelectorAll("input[type=checkbox]")];
          const sections = [...document.querySelectorAll("main > section")].map((section) => ({
            section, entries: [...section.querySelectorAll(":scope > .entry")],
          }));
          const texts = new Map();
          const has = (entry, words) => {
            if (words.length === 0) return true;
            if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
            return words.every((word) => texts.get(entry).includes(word));
          };
          const apply = () => {
            const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
            const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
            let count = 0, all = 0;
            for (const { section, entries } of sections) {
              let visible = 0;
              for (const entry of entries) {
                const show = wanted.has(entry.dataset.outcome) && has(entry, words);
                if (entry.hidden === show) entry.hidden = !show;
                if (show) visible += 1;
              }
              section.hidden = visible === 0;
              count += visible;
              all += entries.length;
            }
            shown.textContent = count === all ? `all ${all} shown` : `${count} of ${all} shown`;
          };
          let waiting = 0;
          field.addEventListener("input", () => {
            clearTimeout(waiting);
            waiting = setTimeout(apply, 150);
          });
          form.addEventListener("change", apply);
          form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
          form.hidden = false;
          apply();
        })();

        """
}
