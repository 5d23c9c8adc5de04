import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import type { ImportRow } from '../device-moves.ts';
import { type Platform, platforms } from '../model/device.ts';
import type { PushInstance } from '../model/instance.ts';
import { readUserId } from '../model/user-id.ts';
import { FieldFault, PushRefusal, refuseField } from '../refusal.ts';
import { readInterestSet } from './interest-set.ts';
import { readPreferences } from './preferences.ts';
import { readRegistration } from './registration.ts';

/** Rows of one request. */
export const IMPORT_ROWS_MAX = 1_000;

const NAME = /^[A-Za-z0-9._-]{1,64}$/;

const DEFAULT_NAME = 'api';

const NAME_RULE = 'must be 1 to 64 letters, digits and the characters . _ -';

export interface ReadImport {
  readonly name: string;
  readonly isDryRun: boolean;
  /** By their index in the request. A fault of one concerns no other. */
  readonly rows: readonly (ImportRow | FieldFault)[];
}

/** Reads the name of an import. */
export function readImportName(text: unknown): string | FieldFault {
  return typeof text === 'string' && NAME.test(text) ? text : new FieldFault('import', NAME_RULE);
}

/** Reads a request that brings devices. Refuses it as a whole only if its frame is wrong. */
export function readImport(body: JsonObject, instance: PushInstance): ReadImport | PushRefusal {
  const { devices, dryRun } = body;
  const name = isGiven(body['import']) ? readImportName(body['import']) : DEFAULT_NAME;
  if (name instanceof FieldFault) return refuseField('unprocessable', name);
  if (isGiven(dryRun) && typeof dryRun !== 'boolean') {
    return refuseField('unprocessable', new FieldFault('dryRun', 'must be true or false'));
  }
  if (!Array.isArray(devices) || devices.length < 1 || devices.length > IMPORT_ROWS_MAX) {
    const rule = `must be an array of 1 to ${IMPORT_ROWS_MAX} objects`;
    return refuseField('unprocessable', new FieldFault('devices', rule));
  }
  const seen = new Set<string>();
  const rows = devices.map((row) => {
    const read = isJsonObject(row)
      ? readRow(row, instance)
      : new FieldFault('', 'must be an object');
    if (read instanceof FieldFault) return read;
    if (seen.has(read.identity)) {
      return new FieldFault('token', 'is the token of an earlier device of this request');
    }
    seen.add(read.identity);
    return read;
  });
  return { name, isDryRun: dryRun === true, rows };
}

/** Reads a row by the rules of the device API. */
function readRow(row: JsonObject, instance: PushInstance): ImportRow | FieldFault {
  const { platform } = row;
  if (!isPlatform(platform)) {
    return new FieldFault('platform', `must be one of ${platforms.join(', ')}`);
  }
  const { bundleId: bundleIdentifier, kind } = row;
  const body = { token: tokenOf(row), bundleIdentifier, kind };
  const registration = readRegistration(platform, body, { instance, client: '' });
  if (registration instanceof PushRefusal) return faultOf(registration);
  const interests = isGiven(row['interests']) ? readInterestSet(row) : [];
  if (interests instanceof PushRefusal) return faultOf(interests);
  const user = isGiven(row['userId']) ? readUserId(row['userId']) : undefined;
  if (user?.ok === false) return new FieldFault('userId', user.why);
  const preferences = readPreferences({ language: row['language'], timeZone: row['timeZone'] });
  if (preferences instanceof FieldFault) return preferences;
  const { token, identity, openHost, bundleId, kind: known } = registration;
  return {
    platform,
    token,
    identity,
    openHost,
    bundleId,
    ...(known && { kind: known }),
    userId: user?.userId,
    interests,
    language: preferences.language ?? undefined,
    timeZone: preferences.timeZone ?? undefined,
  };
}

/** The token of a browser may be its push subscription itself. */
function tokenOf({ token }: JsonObject): unknown {
  return isJsonObject(token) ? Buffer.from(JSON.stringify(token)).toString('base64') : token;
}

function isPlatform(value: unknown): value is Platform {
  return platforms.includes(value as Platform);
}

/** What `refuseField` writes. */
const NAMED_FIELD = /^`([^`]+)`: (.+)$/s;

/** The fault of a row, in the names that a row has. */
function faultOf({ description }: PushRefusal): FieldFault {
  const [, field, reason] = NAMED_FIELD.exec(description) ?? [];
  if (field === undefined || reason === undefined) return new FieldFault('', description);
  return new FieldFault(field === 'bundleIdentifier' ? 'bundleId' : field, reason);
}
