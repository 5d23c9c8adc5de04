/** A list of the origins whose pages may connect. Source: identity, §4; RFC 6454. */

/** An origin, with the port left out if it is the scheme's own. In lower case. */
interface Origin {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
}

type Rule = (origin: Origin | 'null') => boolean;

/** Completes the sentence "must …". */
export const ORIGIN_ENTRY_RULE =
  'be an origin such as https://shop.example.com or http://localhost:*, a host such as shop.example.com or *.example.com, null, or *';

const OWN_PORTS: Readonly<Record<string, string>> = {
  http: '80',
  https: '443',
  ws: '80',
  wss: '443',
};

const LENGTH_MAX = 300;
const PORT_MAX = 65_535;

const ORIGIN = /^([a-z][a-z\d+.-]*):\/\/(\[[\da-f:.]+\]|[^\s/?#@:[\]*,%\\]+)(?::(\d{1,5}))?$/;
const ENTRY =
  /^(?:([a-z][a-z\d+.-]*):\/\/)?(\*\.)?(\[[\da-f:.]+\]|[^\s/?#@:[\]*,%\\]+)(?::(\d{1,5}|\*))?$/;
const IPV4 = /^\d+(?:\.\d+){3}$/;

/** Whether a text can be an entry of a list. */
export function isOriginEntry(entry: string): boolean {
  return readEntry(entry) !== undefined;
}

/** By list: it is asked with each handshake, and replaced when it is changed. */
const rulesOf = new WeakMap<readonly string[], readonly Rule[]>();

/** Whether a list allows an origin, which is given as in the header of a request. Everything is allowed if the list is empty. */
export function allowsOrigin(entries: readonly string[], origin: string): boolean {
  if (entries.length === 0) return true;
  let rules = rulesOf.get(entries);
  if (rules === undefined) {
    rules = entries.flatMap((entry) => readEntry(entry) ?? []);
    rulesOf.set(entries, rules);
  }
  const read = readOrigin(origin);
  return read === undefined ? entries.includes('*') : rules.some((allows) => allows(read));
}

function readOrigin(text: string): Origin | 'null' | undefined {
  const lower = text.toLowerCase();
  if (lower === 'null') return 'null';
  const [, scheme, host, port = ''] = ORIGIN.exec(lower) ?? [];
  if (scheme === undefined || host === undefined) return undefined;
  return { scheme, host, port: portOf(scheme, port) };
}

function readEntry(entry: string): Rule | undefined {
  if (entry.length > LENGTH_MAX) return undefined;
  const lower = entry.toLowerCase();
  if (lower === '*') return () => true;
  if (lower === 'null') return (origin) => origin === 'null';
  const [, scheme, below, given, port = ''] = ENTRY.exec(lower) ?? [];
  if (given === undefined || Number(port) > PORT_MAX) return undefined;
  if (scheme === undefined && port !== '') return undefined;
  const host = hostOf(given);
  if (host === undefined) return undefined;
  if (below !== undefined && (IPV4.test(host) || host.startsWith('['))) return undefined;
  const ownPort = scheme === undefined ? '*' : port === '*' ? port : portOf(scheme, port);
  return (origin) =>
    origin !== 'null' &&
    (scheme === undefined || origin.scheme === scheme) &&
    (ownPort === '*' || origin.port === ownPort) &&
    (below === undefined ? origin.host === host : origin.host.endsWith(`.${host}`));
}

/** A host as browsers write it, for example with the ASCII form of other letters. */
function hostOf(given: string): string | undefined {
  const url = URL.parse(`http://${given}/`);
  return url === null || url.hostname === '' ? undefined : url.hostname;
}

function portOf(scheme: string, port: string): string {
  const number = port === '' ? '' : String(Number(port));
  return OWN_PORTS[scheme] === number ? '' : number;
}
