/** Pixels between a button and what it opens, and to the edge of the window. */
const GAP = 8;

/**
 * Below the button, or above it where the window ends; always within the window. It must be open already.
 * @param edge of the button that it stands under
 */
export function placePopover(button: HTMLElement, popover: HTMLElement, edge: 'start' | 'end' = 'end'): void {
  const from = button.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  // Without the scroll bar of the page.
  const { clientWidth } = document.documentElement;
  const below = from.bottom + GAP / 2;
  const left = edge === 'end' ? from.right - width : from.left;
  popover.style.top = `${below + height > innerHeight ? Math.max(GAP, from.top - GAP / 2 - height) : below}px`;
  popover.style.left = `${Math.max(GAP, Math.min(left, clientWidth - width - GAP))}px`;
}
