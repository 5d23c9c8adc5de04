import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';

/** What a live activity cannot be shown from. Apple's own check is not documented: devices drop such messages silently. */
export function activityFault(body: Uint8Array): 'BadRequestPayload' | undefined {
  const aps = readJsonObject(body)?.['aps'];
  return isJsonObject(aps) && isActivity(aps) ? undefined : 'BadRequestPayload';
}

function isActivity(aps: JsonObject): boolean {
  if (!Number.isSafeInteger(aps['timestamp'])) return false;
  const hasState = isJsonObject(aps['content-state']);
  switch (aps['event']) {
    case 'start':
      return (
        hasState &&
        typeof aps['attributes-type'] === 'string' &&
        isJsonObject(aps['attributes']) &&
        isJsonObject(aps['alert'])
      );
    case 'update':
      return hasState;
    case 'end':
      return hasState || aps['content-state'] === undefined;
    default:
      return false;
  }
}
