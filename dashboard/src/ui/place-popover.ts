/** Pixels between a button and what it opens. */
const GAP = 4;

/** Below the button, at its end; above it, or further to the left, where the window ends. It must be open already. */
export function placePopover(button: HTMLElement, popover: HTMLElement): void {
  const from = button.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  const below = from.bottom + GAP;
  popover.style.top = `${below + height > innerHeight ? Math.max(GAP, from.top - GAP - height) : below}px`;
  popover.style.left = `${Math.max(GAP, Math.min(from.right - width, innerWidth - width - GAP))}px`;
}
