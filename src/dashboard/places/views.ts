import type { OperationName } from '../api/client.ts';
import { asCurl, asFanfare } from '../api/command.ts';
import type { ViewCommand } from '../parts/view-commands.ts';

/**
 * The commands that show in a shell what a page shows. Names such as `:app` are replaced by values from the page's
 * address.
 */
export interface View<Variable extends string = string> {
  /** The operation that the page asks. */
  readonly operation: OperationName & `GET ${string}`;
  /** The variables of its path. */
  readonly path?: Readonly<Record<string, `:${Variable}`>>;
  /** What it asks for besides the filters of the page. */
  readonly query?: Readonly<Record<string, `:${Variable}`>>;
  /** The filters of the page, which are fields of its query. */
  readonly filters?: readonly string[];
  /** The filters that are `true` or absent: options without a value. */
  readonly flags?: readonly string[];
  /** The command that prints the same, if there is one. Fields of the query are its options. */
  readonly fanfare?: readonly string[];
}

type Texts = Readonly<Record<string, string>>;

/** The commands for a page: `values` are those in its path, `query` is that of its address. */
export function commandsOf(
  view: View | undefined,
  values: Texts,
  query: () => Texts,
): readonly ViewCommand[] {
  if (view === undefined) return [];
  const filled = (text: string) => (text.startsWith(':') ? (values[text.slice(1)] ?? '') : text);
  const filledAll = (texts: Texts = {}) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text)]));
  const asked = () => ({
    ...filledAll(view.query),
    ...Object.fromEntries((view.filters ?? []).map((name) => [name, query()[name] ?? ''])),
  });
  const options = () =>
    Object.fromEntries(
      Object.entries(asked()).map(([name, value]) => [
        name,
        view.flags?.includes(name) ? value === 'true' : value,
      ]),
    );
  const { operation, path, fanfare } = view;
  return [
    {
      name: 'curl',
      text: () => asCurl<OperationName>(operation, { path: filledAll(path), query: asked() }),
    },
    ...(fanfare === undefined
      ? []
      : [{ name: 'fanfare', text: () => asFanfare(fanfare.map(filled), options()) } as const]),
  ];
}
