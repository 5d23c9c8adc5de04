import { lstatSync } from 'node:fs';
import {
  adminPasswordFile,
  createAdminPassword,
  type FilePassword,
  PasswordFileFault,
  readAdminPassword,
} from '../../../admin/admin-password-file.ts';
import type { Config } from '../../../config/schema.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { every } from '../../../runtime/time/every.ts';
import type { AdminPasswordSource } from '../../link/messages.ts';
import { StartFailed } from '../../start-failed.ts';

const POLL_INTERVAL_MS = 500;

export interface AdminPasswordOptions {
  readonly config: Config;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * The password of the admin API: from the configuration, or else from a file. The file is created at the first start,
 * and later changes of it are followed.
 */
export class AdminPassword implements Disposable {
  readonly source: AdminPasswordSource;
  private readonly file: string;
  private readonly timers: Timers;
  private readonly log: Log;
  private password: string | undefined;
  /** Identifies the version of the file that was read last. */
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

  /** Reads the password file, or creates it. Throws `StartFailed` if a file exists that cannot be used. */
  static open(options: AdminPasswordOptions): AdminPassword {
    const opened = new AdminPassword(options);
    if (opened.source === 'configuration') return opened;
    try {
      opened.begin();
    } catch (error) {
      if (!(error instanceof PasswordFileFault)) throw error;
      throw new StartFailed({ exitCode: 1, message: error.message }, { cause: error });
    }
    opened.cancel = every(opened.timers, POLL_INTERVAL_MS, () => opened.poll());
    return opened;
  }

  /** `undefined`: there is no password, and every request is denied. */
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
      this.log.warn('Admin API is closed: its password cannot be stored. Set admin.password', {
        file: this.file,
        why: messageOf(error),
      });
    }
  }

  private poll(): void {
    const state = stateOf(this.file);
    try {
      const found = this.find(state);
      if (found === undefined) return;
      if (found.password !== this.password) this.log.info('Admin password changed');
      this.take(found, state);
    } catch (error) {
      if (state === this.seen) return;
      this.seen = state;
      this.log.error('Admin password cannot be read', { why: messageOf(error) });
    }
  }

  private find(state: string): FilePassword | undefined {
    // The file was deleted: keep the password.
    const isNew = state !== '' && state !== this.seen;
    if (isNew) return readAdminPassword(this.file);
    return this.password === undefined ? createAdminPassword(this.file) : undefined;
  }

  private take({ password, isExposed }: FilePassword, state: string): void {
    this.password = password;
    this.seen = state;
    if (!isExposed) return;
    this.log.warn('Other users of this machine can read the admin password: chmod 600', {
      file: this.file,
    });
  }
}

/** Identifies one version of a file; empty if there is no file. */
function stateOf(file: string): string {
  const found = lstatSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '' : [found.dev, found.ino, found.ctimeNs].join(' ');
}
