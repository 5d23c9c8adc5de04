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

const TEXT = /^[\w.+-]{0,40}$/;

/** The descriptions of client libraries. A connection only stores the number of its description. */
export class ClientLibraries {
  private readonly numbers = new Map<string, number>();
  /** 0 is the unknown library. */
  private readonly known: (ClientLibrary | undefined)[] = [undefined];
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

  private find(query: string): number {
    const name = textIn(query, 'client');
    const version = textIn(query, 'version');
    const protocol = textIn(query, 'protocol');
    const key = `${name} ${version} ${protocol}`;
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    if (this.known.length > LIBRARIES_MAX) return 0;
    const number = this.known.push({ name, version, protocol }) - 1;
    this.numbers.set(key, number);
    return number;
  }
}

function textIn(query: string, name: string): string {
  const value = parameterOf(query, name) ?? '';
  return TEXT.test(value) ? value : '';
}
