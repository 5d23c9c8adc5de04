import { isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { type ApnsAudience, apnsAudience, isPushType } from './apns-push-types.ts';
import { type Platform, platforms } from './device.ts';
import { readLanguage } from './preferences.ts';
import type { PublishRequest } from './publish.ts';
import { isTokenKind } from './token-kind.ts';

/** What is kept of a publish after its body is deleted. */
export interface PublishOutline {
  /** The interests or users that it was for; `undefined`: no longer known. */
  readonly names: readonly string[] | undefined;
  readonly platforms: readonly Platform[];
  /** The languages in which it had texts; `undefined`: it had none. */
  readonly languages?: readonly string[] | undefined;
  /** `undefined`: an alert, for ordinary tokens. */
  readonly apns?: ApnsAudience | undefined;
}

/** Names are kept if they have at most this many characters together. A publish may have 170,000. */
const NAMES_LENGTH_MAX = 512;

/** Writes the outline of a publish. */
export function writeOutline({
  target,
  platforms: given,
  languages,
  apns,
}: Pick<PublishRequest, 'target' | 'platforms' | 'languages' | 'apns'>): string {
  const { names } = target;
  const length = names.reduce((sum, name) => sum + name.length, 0);
  const kept = length <= NAMES_LENGTH_MAX ? { names } : {};
  return JSON.stringify({ platforms: given, ...kept, languages, apns });
}

/** Reads an outline. */
export function readOutline(text: string): PublishOutline {
  const fields = parseJsonObject(text) ?? {};
  return {
    names: namesIn(fields['names']),
    platforms: platformsIn(fields['platforms']),
    languages: namesIn(fields['languages']),
    apns: apnsIn(fields['apns']),
  };
}

/** Makes the outline from a stored body, which was checked when the publish was accepted. */
export function outlineOfBody(kind: string, body: string): PublishOutline {
  const fields = parseJsonObject(body) ?? {};
  return {
    names: namesIn(fields[kind]),
    platforms: platforms.filter((platform) => isJsonObject(fields[platform])),
    languages: languagesIn(fields['texts']),
    apns: apnsOf(fields['apns']),
  };
}

function languagesIn(texts: unknown): readonly string[] | undefined {
  return isJsonObject(texts)
    ? Object.keys(texts).flatMap((key) => readLanguage(key) ?? [])
    : undefined;
}

/** The push type in a payload. The fields of `aps` may be directly in it. */
function apnsOf(payload: unknown): ApnsAudience | undefined {
  if (!isJsonObject(payload)) return undefined;
  const { push_type: type, aps } = payload;
  return apnsAudience(isPushType(type) ? type : undefined, isJsonObject(aps) ? aps : payload);
}

function apnsIn(field: unknown): ApnsAudience | undefined {
  if (!isJsonObject(field) || !isPushType(field['type'])) return undefined;
  const { type, kind } = field;
  return { type, kind: isTokenKind(kind) ? kind : undefined };
}

function namesIn(field: unknown): readonly string[] | undefined {
  return Array.isArray(field) ? field.filter((name) => typeof name === 'string') : undefined;
}

function platformsIn(field: unknown): readonly Platform[] {
  return Array.isArray(field) ? platforms.filter((platform) => field.includes(platform)) : [];
}
