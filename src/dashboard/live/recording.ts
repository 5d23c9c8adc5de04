import { parsedObject } from '../parts/json/json.ts';
import type { LiveRow } from './live-rows.ts';
import { fieldsOf, type LiveRecord, recordOf } from './records.ts';

/** The longest recording, and the largest file. */
export const RECORDING_MS = 600_000;
export const RECORDING_BYTES = 16 * 1024 * 1024;

/** Updates come soon after their records, so only those of the newest records are considered. */
const UPDATED_MAX = 2000;

/** Writes what a live page shows to a file in the page's memory: one line of JSON for each record, update and gap. */
export class Recorder {
  readonly app: string;
  readonly startedAtMs: number;
  records = 0;
  bytes = 0;
  private readonly parts: Uint8Array<ArrayBuffer>[] = [];
  private readonly encoder = new TextEncoder();
  /** The numbers of the newest records. */
  private readonly newest = new Set<number>();

  constructor(app: string, nowMs: number) {
    this.app = app;
    this.startedAtMs = nowMs;
    this.write({ recording: 1, app, startedAtMs: nowMs });
  }

  /** Why the recording must end now; `undefined` if it need not. */
  over(nowMs: number): string | undefined {
    if (nowMs - this.startedAtMs >= RECORDING_MS) return 'ten minutes are over';
    return this.bytes >= RECORDING_BYTES ? 'the file has 16 MB' : undefined;
  }

  take(record: LiveRecord): void {
    if (!this.write(record)) return;
    this.records++;
    this.newest.add(record.n);
    if (this.newest.size > UPDATED_MAX) this.newest.delete(this.newest.values().next().value ?? 0);
  }

  update(update: { readonly n: number }): void {
    if (this.newest.has(update.n)) this.write({ update });
  }

  gap(gap: string): void {
    this.write({ gap });
  }

  file(): Blob {
    return new Blob(this.parts, { type: 'application/x-ndjson' });
  }

  private write(line: object): boolean {
    if (this.bytes >= RECORDING_BYTES) return false;
    const part = this.encoder.encode(`${JSON.stringify(line)}\n`);
    this.parts.push(part);
    this.bytes += part.length;
    return true;
  }
}

/** A recording that was opened. */
export interface Recording {
  /** The name of its file. */
  readonly name: string;
  /** The recorded app; `undefined` if the file does not name it. */
  readonly app: string | undefined;
  readonly rows: readonly LiveRow[];
  /** The number of lines that are not part of a recording. */
  readonly unread: number;
}

/** Reads the text of a recording, or of exported records. Text of strangers. */
export function readRecording(name: string, text: string): Recording {
  const rows: LiveRow[] = [];
  const places = new Map<number, number>();
  let app: string | undefined;
  let unread = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const value = parsedObject(line);
    const record = recordOf(value);
    if (record !== undefined) {
      places.set(record.n, rows.length);
      rows.push({ id: rows.length + 1, record });
    } else if (typeof value?.['gap'] === 'string') {
      rows.push({ id: rows.length + 1, gap: value['gap'].slice(0, 200) });
    } else if (typeof value?.['update'] === 'object') {
      complete(rows, places, value['update'] ?? {});
    } else if (value?.['recording'] === 1) {
      app = typeof value['app'] === 'string' ? value['app'] : undefined;
    } else {
      unread++;
    }
  }
  return { name, app, rows, unread };
}

/** Applies a later update to a record. */
function complete(rows: LiveRow[], places: ReadonlyMap<number, number>, update: object): void {
  const fields = fieldsOf(update);
  const place = fields.n === undefined ? undefined : places.get(fields.n);
  const row = place === undefined ? undefined : rows[place];
  if (place === undefined || row === undefined || !('record' in row)) return;
  rows[place] = { id: row.id, record: { ...row.record, ...fields } };
}
