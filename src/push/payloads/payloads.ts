import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import type { Platform, Recipient } from '../model/device.ts';
import { reaches } from '../model/token-kind.ts';
import { FieldFault } from '../refusal.ts';
import { type ApnsPayload, readApnsPayload } from './apns.ts';
import { type FcmPayload, readFcmPayload } from './fcm.ts';
import { isEmptyArray } from './field-rules.ts';
import { readWebPayload, type WebPayload } from './web.ts';

/** The payloads of a publish by platform. At least one is present. */
export interface Payloads {
  readonly apns: ApnsPayload | undefined;
  readonly fcm: FcmPayload | undefined;
  readonly web: WebPayload | undefined;
}

/** Reads the payloads of a publish from its body. */
export function readPayloads(body: JsonObject): Payloads | FieldFault {
  const apns = readOne(body, 'apns', readApnsPayload);
  if (apns instanceof FieldFault) return apns;
  const fcm = readOne(body, 'fcm', readFcmPayload);
  if (fcm instanceof FieldFault) return fcm;
  const web = readOne(body, 'web', readWebPayload);
  if (web instanceof FieldFault) return web;
  return apns === undefined && fcm === undefined && web === undefined
    ? new FieldFault('apns', 'one of apns, fcm and web is required')
    : { apns, fcm, web };
}

/** Whether one of the payloads is for a device: of its platform, and at Apple for its kind of token. */
export function isFor(
  payloads: Partial<Payloads>,
  { platform, kind }: Pick<Recipient, 'platform' | 'kind'>,
): boolean {
  return platform === 'apns'
    ? payloads.apns !== undefined && reaches(payloads.apns.kind, kind)
    : payloads[platform] !== undefined;
}

function readOne<Payload>(
  body: JsonObject,
  platform: Platform,
  read: (payload: JsonObject) => Payload | FieldFault,
): Payload | FieldFault | undefined {
  const payload = body[platform];
  if (!isGiven(payload) || isEmptyArray(payload)) return undefined;
  return isJsonObject(payload) ? read(payload) : new FieldFault(platform, 'must be an object');
}
