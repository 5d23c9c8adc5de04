/** Share of the places at a gateway that newcomers may take, alone and while other devices wait. */
const SHARE = 0.75;
const SHARE_BESIDE_OTHERS = 0.25;

/**
 * How many of `places` newcomers may take: devices that no gateway has accepted yet. Anybody may register devices whose
 * gateway hangs, so some places are always free for the others.
 */
export function newcomersMax(places: number, doOthersWait: boolean): number {
  return Math.max(1, Math.floor(places * (doOthersWait ? SHARE_BESIDE_OTHERS : SHARE)));
}
