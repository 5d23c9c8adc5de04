import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { errorCode, messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { type Database, sqliteFileOf } from '../../stores/database/database.ts';
import { SavedHistoriesToken } from '../../stores/database/saved-histories.ts';

export interface HistoryFileOptions {
  readonly config: Config;
  /** The limit of all histories. */
  readonly historyBytes: number;
  readonly database: Database;
  readonly log: Log;
  /** The number of realtime loops, each of which has a part of the histories. */
  readonly loops: number;
}

/** The first line of the file: format, version, the token in the store, and the hash of the rest. */
const HEAD = /^fanfare-histories 1 ([0-9a-f-]{36}) ([0-9a-f]{1,16})\n/;
const HEAD_BYTES = 128;

/**
 * The file that keeps histories across a clean restart, if the engine is in memory. It is read and deleted at the
 * start, before anybody is served, so that no old state returns after a crash. The store holds its token until then,
 * so a restored copy of the file is not used.
 */
export class HistoryFile implements AsyncDisposable {
  private readonly file: string;
  private readonly token: SavedHistoriesToken;
  private readonly log: Log;
  private readonly loops: number;
  private readonly parts: Uint8Array[] = [];
  private written: Promise<void> | undefined;
  private saved: SharedArrayBuffer | undefined;

  private constructor({ config, database, log, loops }: HistoryFileOptions) {
    this.file = historyFileOf(config.store.url);
    this.token = new SavedHistoriesToken(database);
    this.log = log;
    this.loops = loops;
  }

  /** Reads and deletes the file. If it cannot be used, that is logged, and clients see a gap. */
  static async open(options: HistoryFileOptions): Promise<HistoryFile> {
    const opened = new HistoryFile(options);
    const { file, log } = opened;
    const token = await opened.token.take();
    try {
      if (token !== undefined && options.config.engine.type === 'memory') {
        opened.saved = read(file, token, options.historyBytes);
      }
    } catch (error) {
      const why = messageOf(error);
      log.warn('The histories of the last run cannot be used: clients learn of a gap', {
        file,
        why,
      });
    }
    try {
      for (const name of [file, unfinished(file)]) rmSync(name, { force: true });
    } catch (error) {
      // It is not used again: the store has forgotten its token.
      log.warn('The file of old histories cannot be deleted', { file, why: messageOf(error) });
    }
    return opened;
  }

  /** Returns what was read. Works once. */
  take(): SharedArrayBuffer | undefined {
    const { saved } = this;
    this.saved = undefined;
    return saved;
  }

  /** Takes the histories of a stopping loop. Those of the last one complete the file, which is written at once: a stop may be cut short. */
  add(part: Uint8Array): void {
    this.parts.push(part);
    if (this.parts.length === this.loops) void this.write();
  }

  /** Settles when the file is written, without the part of a loop that has died. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.write();
  }

  private write(): Promise<void> {
    this.written ??= this.writeNow();
    return this.written;
  }

  private async writeNow(): Promise<void> {
    const body = Buffer.concat(this.parts);
    if (body.length === 0) return;
    const token = crypto.randomUUID();
    try {
      write(unfinished(this.file), token, body);
      // The file appears last, so that one that is there can be used.
      await this.token.set(token);
      renameSync(unfinished(this.file), this.file);
    } catch (error) {
      this.log.warn('The histories could not be kept over the restart: clients learn of a gap', {
        file: this.file,
        why: messageOf(error),
      });
    }
  }
}

/** Next to a SQLite store, otherwise in `data/` of the working directory. */
function historyFileOf(storeUrl: string): string {
  const store = sqliteFileOf(storeUrl);
  return store === undefined || store === ':memory:' ? resolve('data/history') : `${store}.history`;
}

/** Reads the file; `undefined` if there is none. Throws if it is damaged or has another token. */
function read(file: string, token: string, historyBytes: number): SharedArrayBuffer | undefined {
  let descriptor: number;
  try {
    // O_NOFOLLOW refuses symbolic links, and O_NONBLOCK keeps a pipe from blocking.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const state = fstatSync(descriptor);
    if (!state.isFile()) throw new Error('it is not a file');
    if (state.uid !== process.getuid?.()) throw new Error('another user has written it');
    if (state.size > bytesMax(historyBytes)) throw new Error(`it has ${state.size} bytes`);
    const head = Buffer.alloc(HEAD_BYTES);
    readSync(descriptor, head, 0, HEAD_BYTES, 0);
    const [line, itsToken, hash] = HEAD.exec(head.toString('latin1')) ?? [];
    if (line === undefined) throw new Error('it has another format');
    if (itsToken !== token) throw new Error('it is not that of the last stop');
    const saved = new SharedArrayBuffer(state.size - line.length);
    const bytes = new Uint8Array(saved);
    for (let at = 0; at < bytes.length; ) {
      const count = readSync(descriptor, bytes, at, bytes.length - at, line.length + at);
      if (count === 0) throw new Error('it is incomplete');
      at += count;
    }
    if (hashOf(bytes) !== hash) throw new Error('it is damaged');
    return saved;
  } finally {
    closeSync(descriptor);
  }
}

function write(file: string, token: string, body: Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeAll(descriptor, Buffer.from(`fanfare-histories 1 ${token} ${hashOf(body)}\n`));
    writeAll(descriptor, body);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** A file that is not complete yet, or not announced in the store. */
function unfinished(file: string): string {
  return `${file}.unfinished`;
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

function hashOf(bytes: Uint8Array): string {
  return Bun.hash(bytes).toString(16);
}

/** Frames are written as JSON, which may double them; empty histories have a line each. */
function bytesMax(historyBytes: number): number {
  return 4 * historyBytes + 256 * 1024 * 1024;
}
