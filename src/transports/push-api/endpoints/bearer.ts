const SCHEME = 'bearer ';

/** What follows `Bearer` in an Authorization header; `undefined` where nothing does, or it is of another scheme. */
export function bearerOf(authorization: string): string | undefined {
  // Any case, as RFC 9110, 11.1 has it.
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  const credentials = authorization.slice(SCHEME.length).trim();
  return credentials === '' ? undefined : credentials;
}
