import { parameterOf } from './admission.ts';

/** What a client says of itself when it connects. */
export interface ClientLibrary {
  /** Such as `js`. */
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
}

/** Descriptions that are kept. Clients may send any, so beyond it new ones are not known. */
const LIBRARIES_MAX = 1_000;

const TEXT = /^[\w.+-]{0,40}$/;

/** What clients say of themselves, by a number that is all that a connection keeps of it. */
export class ClientLibraries {
  private readonly numbers = new Map<string, number>();
  /** 0 is for what is not known. */
  private readonly known: (ClientLibrary | undefined)[] = [undefined];

  /** Returns the number of what the query of a handshake says. */
  numberOf(query: string): number {
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

  of(number: number): ClientLibrary | undefined {
    return this.known[number];
  }
}

function textIn(query: string, name: string): string {
  const value = parameterOf(query, name) ?? '';
  return TEXT.test(value) ? value : '';
}
