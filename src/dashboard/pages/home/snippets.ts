/** What the snippets are filled with. */
interface SnippetFacts {
  readonly appId: string;
  readonly key: string;
  /** A placeholder until the user asks for the secret. */
  readonly secret: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly channel: string;
  readonly event: string;
}

/** Code by the name of its library: for clients that subscribe, and for backends that send an event. */
export interface Snippets {
  readonly client: ReadonlyMap<string, string>;
  readonly backend: ReadonlyMap<string, string>;
}

/** Reads `snippets.txt`, where each snippet follows a line such as `== client Swift`. */
export function snippetsIn(text: string): Snippets {
  const snippets = { client: new Map<string, string>(), backend: new Map<string, string>() };
  for (const part of text.split(/^== /m).slice(1)) {
    const [, of, name = '', code = ''] = /^(client|backend) ([^\n]+)\n(.*)/s.exec(part) ?? [];
    snippets[of as keyof Snippets]?.set(name, code.trimEnd());
  }
  return snippets;
}

/** Fills in a snippet. `{s}` is the last letter of `https` and `wss`, `{Tls}` is `{tls}` in Python. */
export function filled(code: string, facts: SnippetFacts): string {
  const values: Readonly<Record<string, unknown>> = {
    ...facts,
    s: facts.tls ? 's' : '',
    Tls: facts.tls ? 'True' : 'False',
  };
  return code.replaceAll(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all));
}
