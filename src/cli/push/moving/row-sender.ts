import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { pause } from '../../../runtime/time/pause.ts';
import type { PushBackend } from './push-backend.ts';
import type { SourceDevice } from './sources/source-row.ts';

/** The limits of one request. The server takes 4 MiB. */
const ROWS_MAX = 1_000;
const BYTES_MAX = 3 * 1_048_576;

/** Requests in flight. */
const IN_FLIGHT_MAX = 4;

/** What became of one row, by its number in the source. */
export interface RowResult {
  readonly row: number;
  readonly status: string;
  readonly field: string;
  readonly reason: string;
}

export interface RowSenderOptions {
  readonly backend: Pick<PushBackend, 'ask'>;
  readonly name: string;
  readonly isDryRun: boolean;
  /** Infinite: as fast as the server takes them. */
  readonly rowsPerSecond: number;
  /** Called for each row, in the order of the answers. */
  readonly onResult: (result: RowResult) => void;
}

interface Batch {
  readonly rows: string[];
  readonly numbers: number[];
  bytes: number;
}

/** Sends rows to the server, some at once, and never holds more than are in flight. */
export class RowSender {
  private readonly options: RowSenderOptions;
  private readonly inFlight = new Set<Promise<void>>();
  private batch = newBatch();
  private nextAtMs = 0;
  /** The first request that failed, after which nothing more is sent. */
  private failure: { readonly error: unknown } | undefined;

  constructor(options: RowSenderOptions) {
    this.options = options;
  }

  /** Waits while as many requests as may be are in flight. Throws what a request before has failed with. */
  async add(number: number, row: SourceDevice): Promise<void> {
    const text = JSON.stringify(row);
    const bytes = Buffer.byteLength(text) + 1;
    const { batch } = this;
    if (batch.rows.length >= ROWS_MAX || batch.bytes + bytes > BYTES_MAX) await this.flush();
    this.batch.rows.push(text);
    this.batch.numbers.push(number);
    this.batch.bytes += bytes;
  }

  /** Sends the rows that are left, and waits for all answers. Throws what a request has failed with. */
  async end(): Promise<void> {
    await this.flush();
    await Promise.all(this.inFlight);
    this.throwFailure();
  }

  private async flush(): Promise<void> {
    const { batch } = this;
    this.batch = newBatch();
    if (batch.rows.length === 0) return;
    while (this.inFlight.size >= IN_FLIGHT_MAX) await Promise.race(this.inFlight);
    await this.pace(batch.rows.length);
    this.throwFailure();
    const sent = this.send(batch).then(
      () => void this.inFlight.delete(sent),
      (error) => {
        this.inFlight.delete(sent);
        this.failure ??= { error };
      },
    );
    this.inFlight.add(sent);
  }

  private throwFailure(): void {
    if (this.failure !== undefined) throw this.failure.error;
  }

  private async pace(rows: number): Promise<void> {
    const { rowsPerSecond } = this.options;
    if (!Number.isFinite(rowsPerSecond)) return;
    const waitMs = this.nextAtMs - performance.now();
    if (waitMs > 0) await pause(monotonicTimers, waitMs);
    this.nextAtMs = Math.max(this.nextAtMs, performance.now()) + (rows / rowsPerSecond) * 1000;
  }

  private async send({ rows, numbers }: Batch): Promise<void> {
    const { backend, name, isDryRun, onResult } = this.options;
    const head = `{"import":${JSON.stringify(name)},"dryRun":${isDryRun},"devices":[`;
    const answer = await backend.ask('POST', '/devices', `${head}${rows.join(',')}]}`);
    const results = Array.isArray(answer['results']) ? answer['results'] : [];
    for (const { index, status, field = '', reason = '' } of results) {
      onResult({ row: numbers[index] ?? 0, status, field, reason });
    }
  }
}

function newBatch(): Batch {
  return { rows: [], numbers: [], bytes: 0 };
}
