/** What a secret key is called by where it is not shown, and enough to say which one is meant. Characters. */
const NAME_LENGTH = 8;

/** A secret key of which so much is shown keeps enough to itself. Characters. */
const NAMED_LENGTH_MIN = 32;

/** Tells a secret key from others without showing it; all that is left of a short one is `…`. */
export function secretKeyName(secret: string): string {
  return secret.length < NAMED_LENGTH_MIN ? '…' : `${secret.slice(0, NAME_LENGTH)}…`;
}

/** The secret keys that somebody means who gives one of them, or at least its first 8 characters. */
export function secretKeysMeant(secretKeys: readonly string[], given: string): readonly string[] {
  if (secretKeys.includes(given)) return [given];
  return given.length < NAME_LENGTH ? [] : secretKeys.filter((secret) => secret.startsWith(given));
}
