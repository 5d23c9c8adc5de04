const SCHEME = 'bearer ';

/** The credentials in an Authorization header with the scheme `Bearer`, if there are any. */
export function bearerOf(authorization: string): string | undefined {
  // In any case. Source: RFC 9110, 11.1.
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  const credentials = authorization.slice(SCHEME.length).trim();
  return credentials === '' ? undefined : credentials;
}
