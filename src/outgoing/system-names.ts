import { readFileSync, statSync } from 'node:fs';
import { parseAddress } from '../runtime/ip-address.ts';

/** The machine's own settings for resolving names, without the addresses of name servers. */
export interface NameSettings {
  /** Addresses by name, in lower case, as in `/etc/hosts`. */
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  /** Domains that are appended to names. */
  readonly search: readonly string[];
  /** A name with at least this many dots is queried as it is first. */
  readonly ndots: number;
}

export interface SystemNamesOptions {
  readonly hostsFile?: string;
  readonly resolvConfFile?: string;
  /** Milliseconds of any clock. */
  readonly now: () => number;
}

/** How often the files are checked. */
const CHECK_MS = 1_000;

/** `ndots` may not be larger. Source: resolv.conf(5). */
const NDOTS_MAX = 15;

/** Search domains that are used, so that one name causes a bounded number of queries. */
const SEARCH_MAX = 6;

/**
 * The machine's `/etc/hosts` and `/etc/resolv.conf`, read again when they change. They are small and read
 * synchronously: an asynchronous read would wait for the runtime's thread pool.
 */
export class SystemNames {
  private readonly hostsFile: string;
  private readonly resolvConfFile: string;
  private readonly now: () => number;
  private checkedAtMs = Number.NEGATIVE_INFINITY;
  private versions = '';
  private settings: NameSettings = { hosts: new Map(), ...parseResolvConf('') };

  constructor({
    hostsFile = '/etc/hosts',
    resolvConfFile = '/etc/resolv.conf',
    now,
  }: SystemNamesOptions) {
    this.hostsFile = hostsFile;
    this.resolvConfFile = resolvConfFile;
    this.now = now;
  }

  current(): NameSettings {
    const nowMs = this.now();
    if (nowMs - this.checkedAtMs < CHECK_MS) return this.settings;
    this.checkedAtMs = nowMs;
    const versions = `${versionOf(this.hostsFile)} ${versionOf(this.resolvConfFile)}`;
    if (versions !== this.versions) {
      this.settings = {
        hosts: parseHosts(textOf(this.hostsFile)),
        ...parseResolvConf(textOf(this.resolvConfFile)),
      };
      this.versions = versions;
    }
    return this.settings;
  }
}

/** Reads the text of `/etc/hosts`; malformed lines are skipped. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (parseAddress(address) === undefined) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [address]);
      else if (!known.includes(address)) known.push(address);
    }
  }
  return hosts;
}

/** Reads `search` and `ndots` from the text of `/etc/resolv.conf`. The last line of a kind counts. */
export function parseResolvConf(text: string): Pick<NameSettings, 'search' | 'ndots'> {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'search' || keyword === 'domain') {
      search = values.map((domain) => domain.replace(/^\.+|\.+$/g, '')).filter(Boolean);
    }
    if (keyword !== 'options') continue;
    for (const value of values) {
      const given = /^ndots:(\d{1,6})$/.exec(value);
      if (given !== null) ndots = Math.min(Number(given[1]), NDOTS_MAX);
    }
  }
  return { search: search.slice(0, SEARCH_MAX), ndots };
}

/** The full names to query, in order. Source: resolv.conf(5), `search` and `ndots`. */
export function candidatesOf(
  host: string,
  { search, ndots }: Pick<NameSettings, 'search' | 'ndots'>,
): readonly string[] {
  if (host.endsWith('.')) return [host];
  const completed = search.map((domain) => `${host}.${domain}`);
  const dots = host.split('.').length - 1;
  return dots >= ndots ? [host, ...completed] : [...completed, host];
}

/** A text that changes when the file does; a missing file has one, too. */
function versionOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? 'none' : `${stats.ino}:${stats.mtimeMs}:${stats.size}`;
}

/** An unreadable file counts as empty: name servers still answer. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
