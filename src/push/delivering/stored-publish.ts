import type { PublishUnderWay } from '../delivery.ts';
import { FieldFault } from '../field-fault.ts';
import { parseJsonObject } from '../json-object.ts';
import { type Payloads, readPayloads } from '../payloads/payloads.ts';
import type { PublishTarget } from '../publish.ts';
import { readTarget } from '../publish-request.ts';

/** What a publish says, and to whom. */
export interface StoredPublish {
  readonly target: PublishTarget;
  readonly payloads: Payloads;
}

/** Reads a publish that was accepted; `undefined` where today's rules would refuse it. */
export function readStoredPublish({ kind, body }: PublishUnderWay): StoredPublish | undefined {
  const fields = parseJsonObject(body);
  if (fields === undefined) return undefined;
  const target = readTarget(kind, fields);
  const payloads = readPayloads(fields);
  return target instanceof FieldFault || payloads instanceof FieldFault
    ? undefined
    : { target, payloads };
}
