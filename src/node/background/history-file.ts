import { closeSync, fstatSync, readSync, renameSync, rmSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { besideStore, openToRead, writePrivately } from '../../stores/database/beside-store.ts';
import type { Database } from '../../stores/database/database.ts';
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
    this.file = besideStore(config.store.url, 'history');
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
      const head = `fanfare-histories 1 ${token} ${hashOf(body)}\n`;
      rmSync(unfinished(this.file), { force: true });
      writePrivately(unfinished(this.file), [Buffer.from(head), body]);
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

/** Reads the file; `undefined` if there is none. Throws if it is damaged or has another token. */
function read(file: string, token: string, historyBytes: number): SharedArrayBuffer | undefined {
  const descriptor = openToRead(file);
  if (descriptor === undefined) return undefined;
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

/** A file that is not complete yet, or not announced in the store. */
function unfinished(file: string): string {
  return `${file}.unfinished`;
}

function hashOf(bytes: Uint8Array): string {
  return Bun.hash(bytes).toString(16);
}

/** Frames are written as JSON, which may double them; empty histories have a line each. */
function bytesMax(historyBytes: number): number {
  return 4 * historyBytes + 256 * 1024 * 1024;
}
