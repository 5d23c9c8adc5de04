import type { PublishUnderWay } from '../../../push/model/delivery.ts';
import type { PublishId, PublishState, PublishTarget } from '../../../push/model/publish.ts';
import type { BigInteger } from '../../database/rows.ts';

/** The columns of a `PublishUnderWay`. */
export interface PublishRow {
  readonly number: BigInteger;
  readonly id: PublishId;
  readonly instance: BigInteger;
  readonly target: PublishTarget['kind'];
  readonly created_at: BigInteger;
  readonly due_at: BigInteger;
  readonly body: string;
}

/** The state of a publish at a time: its row is not changed when the time of a scheduled one comes. */
export function stateAt(
  { state, send_at }: { readonly state: PublishState; readonly send_at: BigInteger | null },
  nowMs: number,
): PublishState {
  const isDue = state === 'scheduled' && send_at !== null && Number(send_at) <= nowMs;
  return isDue ? 'planning' : state;
}

export function underWayOf(row: PublishRow): PublishUnderWay {
  return {
    number: Number(row.number),
    id: row.id,
    instance: Number(row.instance),
    kind: row.target,
    body: row.body,
    createdAtMs: Number(row.created_at),
    dueAtMs: Number(row.due_at),
  };
}
