import { isObject } from '../../../config/settings/plain-json.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import { PushRefusal } from '../../../push/refusal.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Clock } from '../../../runtime/ports.ts';
import {
  type OutboxResult,
  type OutboxRow,
  resultOf,
  TOO_LONG,
  UNTRIED,
} from '../../../sources/row.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import { statuses } from '../../../transports/push-api/problems.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';

/** Publishes at the same time. */
const AT_ONCE = 64;

/** No rows are begun after this time: PostgreSQL ends the transaction that waits for them after five seconds. */
const SEND_MS = 2_000;

export interface SourceSenderOptions {
  readonly app: string;
  /** `undefined`: no publishes are sent. */
  readonly instance: string | undefined;
  readonly instances: { byId(id: string): PushInstance | undefined };
  readonly realtime: Pick<RealtimeClient, 'ask'>;
  readonly accept: AcceptPublish;
  /** A monotonic clock. */
  readonly clock: Clock;
}

/** A row whose body was read. */
interface ReadRow extends OutboxRow {
  readonly body: string;
}

/** Sends the rows of one source: events through a realtime loop, publishes as a backend does. */
export class SourceSender {
  private readonly options: SourceSenderOptions;

  constructor(options: SourceSenderOptions) {
    this.options = options;
  }

  /** Returns what became of each row, in their order. Never rejects. */
  async send(rows: readonly OutboxRow[]): Promise<readonly OutboxResult[]> {
    const endMs = this.options.clock.now() + SEND_MS;
    const read = rows.filter((row): row is ReadRow => row.body !== undefined);
    const events = read.filter(({ kind }) => kind === 'event');
    const publishes = read.filter(({ kind }) => kind === 'publish');
    const sent = await Promise.all([this.trigger(events), this.publishInPieces(publishes, endMs)]);
    const results = new Map(sent.flatMap((pairs) => [...pairs]));
    return rows.map((row) =>
      row.body === undefined ? TOO_LONG : (results.get(row.id) ?? UNTRIED),
    );
  }

  /** In pieces, until one row must wait, or there is no more time. */
  private async publishInPieces(
    rows: readonly ReadRow[],
    endMs: number,
  ): Promise<ReadonlyMap<bigint, OutboxResult>> {
    const results = new Map<bigint, OutboxResult>();
    for (let begin = 0; begin < rows.length; begin += AT_ONCE) {
      if (this.options.clock.now() > endMs) break;
      const piece = rows.slice(begin, begin + AT_ONCE);
      const sent = await this.publish(piece);
      for (const [id, result] of byId(piece, sent)) results.set(id, result);
      if (sent.some(({ result }) => result === 'later')) break;
    }
    return results;
  }

  /** All in one question: while the machine is busy, each takes long. The loop divides its work into turns. */
  private async trigger(rows: readonly ReadRow[]): Promise<ReadonlyMap<bigint, OutboxResult>> {
    if (rows.length === 0) return new Map();
    const { app: appId, realtime } = this.options;
    const events = rows.map(({ body, key }) => ({ json: body, key }));
    try {
      const question = { appId, events, budgetMs: SEND_MS };
      const answers = await realtime.ask('send-source-events', question);
      return byId(
        rows,
        answers.map(({ status, text }) => resultOf(status, text)),
      );
    } catch (error) {
      // Perhaps they were sent: their keys make that harmless.
      const result = resultOf(503, messageOf(error));
      return new Map(rows.map(({ id }) => [id, result]));
    }
  }

  private async publish(rows: readonly ReadRow[]): Promise<readonly OutboxResult[]> {
    const { instance: id, instances } = this.options;
    if (id === undefined) {
      return rows.map(() => resultOf(422, 'The source names no push instance'));
    }
    const instance = instances.byId(id);
    if (instance === undefined) {
      return rows.map(() => resultOf(404, `There is no push instance ${id}`));
    }
    return await Promise.all(rows.map((row) => this.publishOne(instance, row)));
  }

  private async publishOne(instance: PushInstance, { body, key }: ReadRow): Promise<OutboxResult> {
    const kind = targetOf(body);
    if (kind === undefined) {
      return resultOf(422, 'The body must be a JSON object with interests or users');
    }
    try {
      const accepted = await this.options.accept(instance, {
        kind,
        body: Buffer.from(body),
        idempotencyKey: key,
      });
      if (!(accepted instanceof PushRefusal)) return resultOf(200, '');
      return resultOf(statuses[accepted.problem].status, accepted.description);
    } catch (error) {
      return resultOf(503, messageOf(error));
    }
  }
}

function byId(
  rows: readonly ReadRow[],
  results: readonly OutboxResult[],
): ReadonlyMap<bigint, OutboxResult> {
  return new Map(rows.map(({ id }, place) => [id, results[place] ?? UNTRIED]));
}

/** What the body of a publish is for; `undefined`: it is for neither, or for both. */
function targetOf(body: string): 'interests' | 'users' | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (!isObject(value)) return undefined;
    const [has, hasOther] = ['interests', 'users'].map((name) => Object.hasOwn(value, name));
    if (has === hasOther) return undefined;
    return has ? 'interests' : 'users';
  } catch {
    return undefined;
  }
}
