/** Whether the addresses of a setting, a URL or several, differ in nothing but users and passwords, if at all. */
export function areSamePlaces(before: unknown, after: unknown): boolean {
  return Bun.deepEquals(placesOf(before), placesOf(after));
}

function placesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(placesOf);
  return typeof value === 'string' ? value.replace(LOGIN, '$1') : value;
}

const LOGIN = /^([a-z][a-z+]*:\/\/)[^@/]*@/i;
