/** How much scenes do. */
export interface Amounts {
  /** Kills, and cuts of the power, in each scene. */
  readonly kills: number;
  /** So many servers are killed within seconds; then everything has to come to rest. */
  readonly killsTogether: number;
  /** What else is done several times. */
  readonly times: number;
  /** How long servers are paused, one after the other. Seconds. */
  readonly pauses: readonly number[];
  /** How long one cannot reach Redis, one after the other. Seconds. */
  readonly cutOffs: readonly number[];
  /** How long the scene without a fault lasts. */
  readonly seconds: number;
}

export const USUAL: Amounts = {
  kills: 20,
  killsTogether: 5,
  times: 3,
  pauses: [5, 20, 60],
  cutOffs: [5, 20, 60],
  seconds: 60,
};

/** For a run that has little time. */
export const SMALL: Amounts = {
  kills: 2,
  killsTogether: 5,
  times: 1,
  pauses: [5],
  cutOffs: [8],
  seconds: 20,
};
