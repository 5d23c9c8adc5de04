import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import type { DeviceMetadata } from '../model/device.ts';
import { whyNotStorable } from '../model/storable-text.ts';
import type { PushRefusal } from '../refusal.ts';
import { FieldFault, refuseField } from '../refusal.ts';

/** The metadata that the SDKs send. Source: push protocol, §3.1. */
const metadataNames = ['sdkVersion', 'iosVersion', 'macosVersion', 'androidVersion'] as const;

/** In characters of one value. */
const METADATA_LENGTH_MAX = 100;

/** Reads the metadata of a device. Drops undocumented fields. */
export function readMetadata(body: JsonObject): DeviceMetadata | PushRefusal {
  return readMetadataAt(body, '');
}

/** Reads metadata inside another body. Errors name fields with the prefix `at`. */
export function readMetadataAt(fields: JsonObject, at: string): DeviceMetadata | PushRefusal {
  const metadata: Record<string, string> = {};
  for (const name of metadataNames) {
    const value = fields[name];
    if (!isGiven(value)) continue;
    if (!isVersion(value)) {
      return refuseField(
        'bad-device-request',
        new FieldFault(at + name, `must be a string of at most ${METADATA_LENGTH_MAX} characters`),
      );
    }
    metadata[name] = value;
  }
  return metadata;
}

function isVersion(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= METADATA_LENGTH_MAX &&
    whyNotStorable(value) === undefined
  );
}
