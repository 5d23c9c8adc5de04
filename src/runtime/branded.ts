declare const brand: unique symbol;

/** A string that only its own reader or generator may produce. */
export type Branded<Name extends string> = string & { readonly [brand]: Name };
