import {
  type AddressRange,
  isInRange,
  parseAddress,
  parseRange,
  unmapped,
  unmappedRange,
} from '../ip-address.ts';

/** What one entry covers: every host, the names at and below a name, or a range of addresses. */
type Covered =
  | { readonly kind: 'all' }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'range'; readonly range: AddressRange };

/** The hosts that requests reach without a proxy. */
export class NoProxy {
  private readonly entries: readonly Covered[];

  /** Ignores entries that cannot be read. */
  constructor(texts: readonly string[]) {
    this.entries = entriesOf(texts).flatMap((text) => parseEntry(text) ?? []);
  }

  /** Whether a name or an IP address without brackets is covered. */
  covers(host: string): boolean {
    const address = parseAddress(host);
    const name = host.toLowerCase().replace(/\.$/, '');
    return this.entries.some((entry) => {
      if (entry.kind === 'all') return true;
      if (entry.kind === 'range') {
        return address !== undefined && isInRange(unmapped(address), entry.range);
      }
      return name === entry.name || name.endsWith(`.${entry.name}`);
    });
  }
}

/** The entries of texts that separate them by commas or white space. */
export function entriesOf(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(/[\s,]+/)).filter((entry) => entry !== '');
}

/** Whether a text is an entry, or several of them with commas between. */
export function isNoProxy(text: string): boolean {
  const entries = entriesOf([text]);
  return entries.length > 0 && entries.every((entry) => parseEntry(entry) !== undefined);
}

/** Reads `*`, an address, a range, or a name. A dot or `*.` in front of a name, and a port behind it, change nothing. */
function parseEntry(text: string): Covered | undefined {
  if (text === '*') return { kind: 'all' };
  const host = withoutPort(text);
  const range = parseRange(host.replace(/^\[|\]$/g, ''));
  if (range !== undefined) return { kind: 'range', range: unmappedRange(range) };
  const name = host
    .replace(/^\*?\./, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) ? { kind: 'name', name } : undefined;
}

function withoutPort(text: string): string {
  return /^(\[[^\]]*\]|[^:]*):\d{1,5}$/.exec(text)?.[1] ?? text;
}
