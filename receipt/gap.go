package receipt

// Gap says that receipts were lost: the Count places before this one in the
// run hold statements that the engine no longer has. It takes the place after
// them, and its call's Prev is the last statement known
// (spec/receipt.md#gap). So its Seq is greater than Count.
type Gap struct {
	Count uint64 // from 1
	Code  Code
}
