import { entriesOf, isNoProxy } from '../../runtime/proxy/no-proxy.ts';
import type { EnvironmentVariables } from './variables.ts';

/** A variable that many programs read. It counts where nothing else sets the setting. */
interface SharedVariable {
  readonly path: string;
  /** The first that is set and not empty counts. */
  readonly names: readonly string[];
  readonly read: (text: string) => unknown;
}

const SHARED_VARIABLES: readonly SharedVariable[] = [
  { path: 'outgoing.proxy', names: ['HTTPS_PROXY', 'https_proxy'], read: withScheme },
  { path: 'outgoing.noProxy', names: ['NO_PROXY', 'no_proxy'], read: readableEntries },
];

export interface SharedValue {
  readonly path: string;
  readonly name: string;
  readonly value: unknown;
}

/** What the variables that many programs read say about settings. */
export function sharedValues(environment: EnvironmentVariables): readonly SharedValue[] {
  return SHARED_VARIABLES.flatMap(({ path, names, read }) => {
    const name = names.find((one) => (environment[one] ?? '') !== '');
    return name === undefined ? [] : [{ path, name, value: read(environment[name] ?? '') }];
  });
}

/** Without a scheme it is an HTTP proxy, as for other programs. */
function withScheme(text: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
}

/** Other programs have further forms of entries, which are ignored. */
function readableEntries(text: string): readonly string[] {
  return entriesOf([text]).filter(isNoProxy);
}
