import type { Config } from '../../config/schema.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { StartFailed } from '../start-failed.ts';
import type { TlsFiles } from '../tls-files.ts';

/** How often the files are read. */
const INTERVAL_MS = 60_000;

/** What has changed must be the same after this time: a program may still be writing it. */
const SETTLED_MS = 1_000;

/** Files that cannot be used for this long are no renewal in progress. */
const BROKEN_MS = 5 * 60_000;

export interface TlsRenewalOptions {
  /** The configuration in use, and what its files held when it was read. */
  readonly config: Config;
  readonly tlsFiles: TlsFiles;
  /** Throws `StartFailed` if a file cannot be used, or a key does not belong to its certificate. */
  readonly read: (config: Config) => TlsFiles;
  readonly timers: Timers;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Uses what has changed. */
type Use = (now: TlsFiles, before: TlsFiles) => void;

/** Why the files on the disk cannot be used, and since when. */
export interface TlsFilesFault {
  readonly why: string;
  readonly sinceMs: number;
}

/**
 * Looks each minute whether the files of TLS were renewed, and uses them without a signal. Half of a pair, or a file that
 * is being written, is not used: what was read before stays.
 */
export class TlsRenewal implements Disposable {
  private readonly options: TlsRenewalOptions;
  private config: Config;
  private current: TlsFiles;
  private broken: TlsFilesFault | undefined;
  private isBrokenLogged = false;
  private use: Use = () => undefined;
  private cancel: () => void = () => undefined;

  constructor(options: TlsRenewalOptions) {
    this.options = options;
    this.config = options.config;
    this.current = options.tlsFiles;
  }

  /** Starts to look. `use` is called with what has changed. */
  start(use: Use): void {
    this.use = use;
    this.lookAfter(INTERVAL_MS, undefined);
  }

  /** The configuration was read again, with its files. Everybody uses them already. */
  reloaded(config: Config, files: TlsFiles): void {
    this.config = config;
    this.current = files;
    this.broken = undefined;
    this.isBrokenLogged = false;
  }

  /** Set if the files on the disk have not been usable for minutes. */
  fault(): TlsFilesFault | undefined {
    const { broken } = this;
    const nowMs = this.options.timers.now();
    return broken !== undefined && nowMs - broken.sinceMs >= BROKEN_MS ? broken : undefined;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  /** `seen`: what has changed, and must have settled. */
  private lookAfter(delayMs: number, seen: TlsFiles | undefined): void {
    this.cancel = this.options.timers.after(delayMs, () => {
      const changed = this.look(seen);
      this.lookAfter(changed === undefined ? INTERVAL_MS : SETTLED_MS, changed);
    });
  }

  /** Reads the files. Returns what has changed and may not have settled yet. */
  private look(seen: TlsFiles | undefined): TlsFiles | undefined {
    const found = this.read();
    if (found === undefined || Bun.deepEquals(found, this.current)) return undefined;
    if (!Bun.deepEquals(found, seen)) return found;
    const before = this.current;
    this.current = found;
    this.use(found, before);
    const settings = changedGroups(before, found).join(', ');
    this.options.log.info('Renewed files of TLS are used', { settings });
    return undefined;
  }

  private read(): TlsFiles | undefined {
    const { read, timers, log } = this.options;
    try {
      const found = read(this.config);
      this.broken = undefined;
      this.isBrokenLogged = false;
      return found;
    } catch (error) {
      if (!(error instanceof StartFailed)) throw error;
      const why = messageOf(error);
      this.broken = { why, sinceMs: this.broken?.sinceMs ?? timers.now() };
      if (this.fault() !== undefined && !this.isBrokenLogged) {
        this.isBrokenLogged = true;
        log.warn('The files of TLS cannot be used: what was read before stays', { why });
      }
      return undefined;
    }
  }
}

/** The settings whose files have changed. */
function changedGroups(before: TlsFiles, now: TlsFiles): readonly string[] {
  const groups = [
    ['tls', before.listeners, now.listeners],
    ['engine.tls', before.redis.servers, now.redis.servers],
    ['engine.sentinels.tls', before.redis.sentinels, now.redis.sentinels],
    ['store.tls', before.store, now.store],
  ] as const;
  return groups.filter(([, one, other]) => !Bun.deepEquals(one, other)).map(([name]) => name);
}
