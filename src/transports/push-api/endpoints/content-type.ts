import { PushRefusal } from '../../../push/refusal.ts';
import { compressionIn, describeCompressed } from '../../content-encoding.ts';
import type { PushHead } from '../call.ts';

const JSON_TYPE = 'application/json';

const NOT_JSON = new PushRefusal(
  'content-type',
  `The Content-Type header must be ${JSON_TYPE}: no other is supported`,
);

/** Refuses a request whose body is compressed or whose Content-Type is not JSON. Ignores parameters such as a charset. */
export function refuseContentType(head: PushHead): PushRefusal | undefined {
  const compression = compressionIn(head.header('content-encoding'));
  if (compression !== undefined) {
    return new PushRefusal('content-type', describeCompressed(compression));
  }
  const type = head.header('content-type');
  return type === JSON_TYPE || type?.split(';', 1)[0]?.trim().toLowerCase() === JSON_TYPE
    ? undefined
    : NOT_JSON;
}
