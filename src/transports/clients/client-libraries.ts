import { parameterOf } from './admission.ts';

/** What a client reports about itself when it connects. */
export interface ClientLibrary {
  /** Such as `js`. */
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
}

/** The limit of descriptions. Clients can send anything, so beyond it new descriptions are stored as unknown. */
const LIBRARIES_MAX = 1_000;

const UNKNOWN = 0;
const UNKNOWN_ASKING = 1;

const TEXT = /^[\w.+-]{0,40}$/;

/** The descriptions of client libraries. A connection only stores the number of its description. */
export class ClientLibraries {
  private readonly numbers = new Map<string, number>();
  /** 0 is the unknown library, and 1 the unknown one that asks for extras. */
  private readonly known: (ClientLibrary | undefined)[] = [undefined, undefined];
  private readonly askingForExtras = new Set([UNKNOWN_ASKING]);
  /** The last query and its number: most clients of an app send the same. */
  private lastQuery: string | undefined;
  private lastNumber = 0;

  /** Returns the number of the description in a handshake's query. */
  numberOf(query: string): number {
    if (query === this.lastQuery) return this.lastNumber;
    this.lastQuery = query;
    this.lastNumber = this.find(query);
    return this.lastNumber;
  }

  of(number: number): ClientLibrary | undefined {
    return this.known[number];
  }

  /** Whether clients of this description ask which extras the server has. */
  asksForExtras(number: number): boolean {
    return this.askingForExtras.has(number);
  }

  private find(query: string): number {
    // Such a client otherwise describes itself as the pusher-js that it replaces.
    const asks = parameterOf(query, 'fanfare') !== null;
    const name = asks ? 'fanfare-js' : textIn(query, 'client');
    const version = textIn(query, asks ? 'fanfare' : 'version');
    const protocol = textIn(query, 'protocol');
    const key = `${asks} ${name} ${version} ${protocol}`;
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    if (this.numbers.size >= LIBRARIES_MAX) return asks ? UNKNOWN_ASKING : UNKNOWN;
    const number = this.known.push({ name, version, protocol }) - 1;
    this.numbers.set(key, number);
    if (asks) this.askingForExtras.add(number);
    return number;
  }
}

function textIn(query: string, name: string): string {
  const value = parameterOf(query, name) ?? '';
  return TEXT.test(value) ? value : '';
}
