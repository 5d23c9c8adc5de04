/** What is signed of a JWT: its header and its claims, as they are sent. Source: RFC 7515, 7.1. */
export function unsignedJwt(header: object, claims: object): string {
  return `${encodePart(header)}.${encodePart(claims)}`;
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
