/** Characters of a secret key that name it where the key itself is hidden. */
const NAME_LENGTH = 8;

/** Only longer keys are named by their first characters: the rest must be enough of a secret. Characters. */
const NAMED_LENGTH_MIN = 32;

/** A name for a secret key that does not reveal it. A short key is just `…`. */
export function secretKeyName(secret: string): string {
  return secret.length < NAMED_LENGTH_MIN ? '…' : `${secret.slice(0, NAME_LENGTH)}…`;
}

/** The secret keys that match `given`: a whole key, or at least its first 8 characters. */
export function secretKeysMeant(secretKeys: readonly string[], given: string): readonly string[] {
  if (secretKeys.includes(given)) return [given];
  return given.length < NAME_LENGTH ? [] : secretKeys.filter((secret) => secret.startsWith(given));
}
