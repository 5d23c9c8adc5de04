/** What a reason means, for people. */
export interface ReasonMeaning {
  /** The cause in plain words: what may follow "because", without a full stop. */
  readonly why: string;
  /** What somebody can do about the cause. `undefined`: nothing, or wait. */
  readonly advice?: string;
  /** What else is true, and to be done instead, where the device was kept or removed for it. */
  readonly kept?: Partial<ReasonMeaning>;
  readonly removed?: Partial<ReasonMeaning>;
  /** It says all that the words say which come with the reason. */
  readonly saysAll?: true;
}

/** By what stands as the reason. */
export type ReasonMeanings = Readonly<Record<string, ReasonMeaning>>;
