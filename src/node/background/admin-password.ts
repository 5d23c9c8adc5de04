import { lstatSync } from 'node:fs';
import {
  adminPasswordFile,
  createAdminPassword,
  type KeptPassword,
  PasswordFileFault,
  readAdminPassword,
} from '../../admin/admin-password-file.ts';
import type { Config } from '../../config/schema.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import type { AdminPasswordSource } from '../link/messages.ts';
import { StartFailed } from '../start-failed.ts';

/** How often the file is looked at. Milliseconds. */
const LOOK_INTERVAL_MS = 500;

export interface AdminPasswordOptions {
  readonly config: Config;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * The password of the admin API, as it is now: that of the configuration, or else one in a file, which is made at
 * the first start and followed when it changes.
 */
export class AdminPassword implements Disposable {
  readonly source: AdminPasswordSource;
  private readonly file: string;
  private readonly timers: Timers;
  private readonly log: Log;
  private password: string | undefined;
  /** Tells the state of the file that was read last from later ones. */
  private seen = '';
  private cancel: (() => void) | undefined;

  private constructor({ config, timers, log }: AdminPasswordOptions) {
    const { password } = config.admin;
    this.source = password === null ? 'file' : 'configuration';
    this.password = password ?? undefined;
    this.file = adminPasswordFile(config.store.url);
    this.timers = timers;
    this.log = log;
  }

  /** Finds the password, or makes it. Throws `StartFailed` where there is one that cannot be used. */
  static open(options: AdminPasswordOptions): AdminPassword {
    const opened = new AdminPassword(options);
    if (opened.source === 'configuration') return opened;
    try {
      opened.begin();
    } catch (error) {
      if (!(error instanceof PasswordFileFault)) throw error;
      throw new StartFailed({ exitCode: 1, message: error.message }, { cause: error });
    }
    opened.watch();
    return opened;
  }

  /** `undefined`: there is none, so nobody can know it. */
  get current(): string | undefined {
    return this.password;
  }

  [Symbol.dispose](): void {
    this.cancel?.();
  }

  private begin(): void {
    const state = stateOf(this.file);
    try {
      this.take(readAdminPassword(this.file) ?? createAdminPassword(this.file), state);
    } catch (error) {
      if (error instanceof PasswordFileFault) throw error;
      this.log.warn('The admin API answers nobody: no password can be kept. Set admin.password', {
        file: this.file,
        why: messageOf(error),
      });
    }
  }

  private watch(): void {
    this.cancel = this.timers.after(LOOK_INTERVAL_MS, () => {
      this.look();
      this.watch();
    });
  }

  private look(): void {
    const state = stateOf(this.file);
    try {
      // A file that is gone leaves the password as it is: nobody has chosen another one.
      const isNew = state !== '' && state !== this.seen;
      const kept = isNew
        ? readAdminPassword(this.file)
        : this.password === undefined
          ? createAdminPassword(this.file)
          : undefined;
      if (kept === undefined) return;
      if (kept.password !== this.password) this.log.info('Admin password changed');
      this.take(kept, state);
    } catch (error) {
      if (state === this.seen) return;
      this.seen = state;
      this.log.error('Admin password not changed', { why: messageOf(error) });
    }
  }

  private take({ password, isExposed }: KeptPassword, state: string): void {
    this.password = password;
    this.seen = state;
    if (!isExposed) return;
    this.log.warn('Other users of this machine may read the admin password: chmod 600', {
      file: this.file,
    });
  }
}

/** Empty where there is no such file. */
function stateOf(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '' : [found.dev, found.ino, found.ctimeNs].join(' ');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
