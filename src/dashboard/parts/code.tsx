import { CopyButton } from './controls.tsx';

const TOKENS =
  /(?<comment>(?:\/\/|#(?!\{)|<!--)[^\n]*)|(?<string>'[^'\n]*'|"[^"\n]*"|`[^`]*`)|\b(?<keyword>const|let|val|var|final|import|from|require|new|use|func|fun|def|for|await|async|return|package|curl|export|true|false|nil|null)\b/g;

/** Code to copy, with comments, strings and keywords in colours. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{coloured(text)}</code>
        </pre>
      </section>
      <CopyButton text={text} />
    </div>
  );
}

function coloured(text: string) {
  const parts = [];
  let done = 0;
  for (const found of text.matchAll(TOKENS)) {
    // Inside a URL, two slashes begin no comment.
    if (found[0].startsWith('//') && text[found.index - 1] === ':') continue;
    parts.push(text.slice(done, found.index));
    const kind = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    parts.push(<span class={kind}>{found[0]}</span>);
    done = found.index + found[0].length;
  }
  return [...parts, text.slice(done)];
}
