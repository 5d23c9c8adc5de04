import { isReservedByFcm, readV1, V1Fault } from '../../push/payloads/fcm-v1.ts';
import { fcmMessageFields, targets } from '../../push/payloads/fcm-v1-fields.ts';
import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';

/** A fault in a message: a field path and a description, in Google's form. */
export interface FcmMessageFault {
  readonly field: string;
  readonly description: string;
}

/** Source: push protocol, §8.2. */
const MESSAGE_BYTES_MAX = 4096;

/** What is wrong with a request, apart from its access token. Sources: push protocol, §5.3 and §8.2; FCM v1. */
export function fcmFault(request: JsonObject): FcmMessageFault | undefined {
  if (!isJsonObject(request['message'])) return fault('message', 'is missing');
  const table = { message: fcmMessageFields, validate_only: 'flag' } as const;
  const read = readV1(request, { table, at: '', hasEmptyArrays: false });
  if (read instanceof V1Fault) return faultOf(read);
  const message = objectIn(read, 'message');
  const android = objectIn(message, 'android');
  return (
    targetFault(message) ??
    dataFault(objectIn(message, 'data'), 'message.data') ??
    dataFault(objectIn(android, 'data'), 'message.android.data') ??
    sizeFault(message, android)
  );
}

function faultOf({ at, name, rule }: V1Fault): FcmMessageFault {
  // The request itself has no name.
  const path = at.replace(/^\./, '');
  if (rule === undefined) return fault(path, `Unknown name "${name}"`);
  return fault(path === '' ? name : `${path}.${name}`, rule);
}

function objectIn(fields: JsonObject, name: string): JsonObject {
  const value = fields[name];
  return isJsonObject(value) ? value : {};
}

function targetFault(message: JsonObject): FcmMessageFault | undefined {
  const [target, ...more] = Object.keys(targets).filter((name) => isGiven(message[name]));
  if (target === undefined) return fault('message', 'names no recipient');
  if (more.length > 0) return fault('message', 'names more than one recipient');
  return message[target] === '' ? fault(`message.${target}`, 'is empty') : undefined;
}

function dataFault(data: JsonObject, at: string): FcmMessageFault | undefined {
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== 'string') return fault(`${at}[${key}]`, 'is not a string');
    if (isReservedByFcm(key)) return fault(`${at}[${key}]`, 'is a reserved key');
  }
  return undefined;
}

/** Keys and values that reach an Android device count towards the size. */
function sizeFault(message: JsonObject, android: JsonObject): FcmMessageFault | undefined {
  const bytes = [
    message['notification'],
    android['notification'],
    android['data'] ?? message['data'],
  ]
    .filter(isJsonObject)
    .flatMap((fields) => Object.entries(fields))
    .reduce((sum, [key, value]) => sum + bytesOf(key) + bytesOf(value), 0);
  return bytes <= MESSAGE_BYTES_MAX ? undefined : fault('', `Message too big: ${bytes} bytes`);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
}

function fault(field: string, description: string): FcmMessageFault {
  return { field, description };
}
