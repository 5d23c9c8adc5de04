import { isJsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { type Platform, platforms } from './device.ts';
import type { PublishRequest } from './publish.ts';

/** What is kept of a publish's body for as long as it can be asked about. */
export interface PublishOutline {
  /** Whom it was for; `undefined`: that is not known any more. */
  readonly names: readonly string[] | undefined;
  readonly platforms: readonly Platform[];
}

/** Characters of all names together that are kept: enough for some interests. A publish may have 170,000. */
const NAMES_MAX = 512;

/** Writes what is to be kept of a publish when its body is forgotten. */
export function writeOutline({
  target,
  platforms: given,
}: Pick<PublishRequest, 'target' | 'platforms'>): string {
  const { names } = target;
  const length = names.reduce((sum, name) => sum + name.length, 0);
  return JSON.stringify(length <= NAMES_MAX ? { platforms: given, names } : { platforms: given });
}

/** Reads what `writeOutline` wrote. */
export function readOutline(text: string): PublishOutline {
  const fields = parseJsonObject(text) ?? {};
  return { names: namesIn(fields['names']), platforms: platformsIn(fields['platforms']) };
}

/** Reads the same from the body, as long as it is there. It was read when it was accepted, so it is right. */
export function outlineOfBody(kind: string, body: string): PublishOutline {
  const fields = parseJsonObject(body) ?? {};
  return {
    names: namesIn(fields[kind]),
    platforms: platforms.filter((platform) => isJsonObject(fields[platform])),
  };
}

function namesIn(field: unknown): readonly string[] | undefined {
  return Array.isArray(field) ? field.filter((name) => typeof name === 'string') : undefined;
}

function platformsIn(field: unknown): readonly Platform[] {
  return Array.isArray(field) ? platforms.filter((platform) => field.includes(platform)) : [];
}
