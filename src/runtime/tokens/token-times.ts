/** How long a token may last, at most. */
export const TOKEN_DAYS_MAX = 31;

/** By how much the clock of an issuer may differ, at most. */
export const LEEWAY_SECONDS_MAX = 300;
