/** The result of verifying a token, as the label of a metric. */
export type TokenResult =
  | 'accepted'
  | 'malformed'
  | 'key'
  | 'signature'
  | 'expired'
  | 'early'
  | 'issuer'
  | 'audience'
  | 'claim'
  | 'revoked';
